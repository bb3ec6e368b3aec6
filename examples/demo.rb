# frozen_string_literal: true

# bin/demo: runs the other examples as processes, over TCP on this machine, and shows their output.
require "fileutils"
require "io/wait"
require "json"
require "rbconfig"
require "socket"
require "tmpdir"
require_relative "../bench/support/bench"
require_relative "../rakelib/support/edge_build"
require_relative "../rakelib/support/jruby"
require_relative "../rakelib/support/mruby_build"
require_relative "../rakelib/support/native_gem"
require_relative "../work/test/support/broker"

# The scenes and their processes.
module Demo
  DEADLINE = 120 # seconds for one process: it catches a hang
  SIZE = 100
  BATCH = 256
  ROUND_TRIPS = 5_000
  # `BENCH_QUICK=1 rake demo` shows that the scenes end well, not how fast they are.
  COUNT, ROUNDS, LARGE_COUNT, LOG_COUNT, WORK_COUNT =
    Bench.quick? ? [50_000, 1, 50, 5_000, 2_000] : [500_000, 3, 500, 50_000, 20_000]

  NO_BROKER = "it needs Kafka's broker at KAFKA_BROKERS=host:9092"
  # The broker looks often for transactions whose time is over.
  TRANSACTIONS = "transaction.abort.timed.out.transaction.cleanup.interval.ms=500"

  # A process of a scene.
  class Actor
    def initialize(*command)
      @command = command.map(&:to_s)
      @late = Bench.now + DEADLINE
      @text = +""
      # Without Bundler, which takes a while to load.
      @io = IO.popen({"RUBYOPT" => nil, "BUNDLER_SETUP" => nil}, @command, err: %i[child out])
    end

    # Memory of its own, apart from that of files such as its program: RssAnon.
    # @return [Integer] KiB
    def memory = Integer(File.read("/proc/#{@io.pid}/status")[/^RssAnon:\s+(\d+)/, 1])

    # Waits until the process has printed a match.
    # @return [MatchData]
    def wait_for(pattern)
      until (found = pattern.match(@text))
        raise Bench::Failure, "#{name} ended early:\n#{@text}" unless read
      end
      found
    end

    # Waits for the end of the process and checks its status.
    # @return [String] its output
    def finish(status: 0)
      nil while read
      @io.close
      raise Bench::Failure, "#{name} ended with #{$?}:\n#{@text}" unless $?.exitstatus == status
      @text
    end

    def pause(after:, seconds:)
      sleep(after)
      Process.kill(:STOP, @io.pid)
      sleep(seconds)
      Process.kill(:CONT, @io.pid)
    end

    def stop
      return if @io.closed?
      Process.kill(:KILL, @io.pid)
      @io.close
    end

    private

    def read
      left = @late - Bench.now
      unless left > 0 && @io.wait_readable(left)
        raise Bench::Failure, "#{name} is not done after #{DEADLINE} s:\n#{@text}"
      end
      @text << @io.readpartial(4096)
    rescue EOFError
      nil
    end

    def name = @command.join(" ")
  end

  # The methods of a scene: run an example, print a text.
  class Stage
    def self.play
      stage = new
      yield stage
    ensure
      stage.clear
    end

    def initialize
      @actors = []
    end

    # Starts an example.
    def example(file, *arguments)
      run(RbConfig.ruby, "-Ilib", "examples/#{file}.rb", *arguments)
    end

    # Starts a program of work/examples with the gems of bin/setup: sqlite3, karafka-rdkafka.
    # @param url [String] of the log
    def work(url, file, *arguments)
      ruby = RbConfig::CONFIG["ruby_version"]
      gems = ["vendor/demo", "vendor/kafka", "vendor/bundle/ruby/#{ruby}"]
        .map { |folder| File.expand_path(folder) }.join(":")
      run("env", "GEM_PATH=#{gems}", "GODWIT_WORK_URL=#{url}", RbConfig.ruby, "-Ilib",
        "-Iwork/lib", "work/examples/#{file}.rb", *arguments)
    end

    # Runs the consumer of work/examples, and a program that produces and counts.
    # @param url [String]
    # @param folder [String] that both share
    # @param count [Integer] records
    # @param what [String] what happens meanwhile, in the output
    # @yieldparam consumer [Actor] when half of the records are handled
    # @yieldreturn [String] a line of the output
    def payments(url, folder, count, what)
      consumer = work(url, "payments", folder)
      records = work(url, "records", folder, count, what)
      records.wait_for(/^half$/)
      line = yield consumer
      say records.finish.sub("half", line)
      clear
    end

    # Starts an unchanged program for another gem through its compatibility layer.
    # @param layer [String] such as "rbczmq"; the program is in the folder of its examples
    # @param ruby [Array<String>] the command that runs this Ruby
    def old_program(layer, name, *arguments, ruby: [RbConfig.ruby])
      run(*ruby, "-Ilib", "-rgodwit/compat/#{layer.tr("-", "_")}", "examples/#{layer}/#{name}.rb",
        *arguments)
    end

    # The command line.
    def godwit(*arguments) = run(RbConfig.ruby, "-Ilib", "exe/godwit", *arguments)

    # @param program [String] the interpreter mruby-godwit
    def mruby(program, file, *arguments) = run(program, "examples/mruby/#{file}.rb", *arguments)

    def run(*command)
      Actor.new(*command).tap { |actor| @actors << actor }
    end

    def say(text) = puts(text.lines.map { |line| "   #{line}" })

    # Ends the scene.
    def skip(why) = throw(:skipped, say("skipped: #{why}"))

    def clear = @actors.reverse_each(&:stop)
  end

  # A scene: what the reader has seen after it, and what it needs that `bin/setup --demo` leaves
  # out.
  Scene = Struct.new(:title, :seen, :needs, :play)
  SCENES = []

  def self.scene(title, seen:, needs: nil, &play)
    SCENES << Scene.new(title, seen, needs, play)
  end
  private_class_method :scene

  scene(
    "Request and reply between two processes",
    seen: "Two Ruby processes exchanged messages directly, without a broker."
  ) do |stage|
    endpoint = "tcp://127.0.0.1:#{free_port}"
    stage.example("server", endpoint)
    client = stage.example("client", endpoint)
    stage.say "examples/server.rb, examples/client.rb: 5,000 round trips"
    stage.say client.finish
    stage.say "examples/round_trips.rb: 10,000 more, each timed"
    stage.say stage.example("round_trips", endpoint).finish
  end

  scene(
    "Scripts written for rbczmq, unchanged: ruby -rgodwit/compat/rbczmq",
    seen: "A program written for another gem ran on Godwit without a change."
  ) do |stage|
    server = stage.old_program("rbczmq", "rep_server", "tcp://127.0.0.1:*")
    endpoint = "tcp://127.0.0.1:#{server.wait_for(/^listening on port (\d+)$/)[1]}"
    client = stage.old_program("rbczmq", "req_client", endpoint)
    stage.say "examples/rbczmq/rep_server.rb, examples/rbczmq/req_client.rb: 5,000 round " \
      "trips, by Benchmark.measure"
    stage.say client.finish
    stage.say server.finish.lines.last
  end

  scene(
    "Push to pull: #{COUNT} messages of #{SIZE} bytes beside libzmq's own C, medians of " \
      "#{ROUNDS} rounds",
    seen: "The last column is the share of C's rate that Ruby reaches: one by one, and in " \
      "batches."
  ) do |stage|
    rates = {
      "bench/c/thr_push.c to thr_pull.c" =>
        [[:c, "thr_pull", "tcp://127.0.0.1:*", SIZE, COUNT], [:c, "thr_push", SIZE, COUNT]],
      "examples/push.rb to pull.rb, one by one" =>
        [[:example, "pull", "tcp://127.0.0.1:*", COUNT], [:example, "push", SIZE, COUNT]],
      "examples/push.rb to pull.rb, in batches of up to #{BATCH}" =>
        [[:example, "pull", "tcp://127.0.0.1:*", COUNT, BATCH],
          [:example, "push", SIZE, COUNT, BATCH]]
    }
    medians(stage, rates).each_with_index do |(name, rate, share), index|
      stage.say format("%-58s %9d messages/s%s", name, rate,
        (format(", %.2f of C", share) if index > 0))
    end
  end

  scene(
    "Large messages: #{LARGE_COUNT} of 1 MiB, copied at both ends, then without a " \
      "copy",
    seen: "The second row is the rate when neither side copies the bytes."
  ) do |stage|
    [%w[strings copy], %w[frames in-place]].each do |receive, send|
      receiver = stage.example("large_pull", "tcp://127.0.0.1:*", LARGE_COUNT, receive)
      endpoint = receiver.wait_for(%r{tcp://127\.0\.0\.1:\d+})[0]
      stage.example("large_push", endpoint, 1 << 20, LARGE_COUNT, send)
      stage.say format("%-58s %s", "large_push.rb #{send} to large_pull.rb #{receive}",
        receiver.finish.lines.last)
    end
  end

  scene(
    "The first ten test files of the whole machine: the tenth stops find /",
    seen: "The tenth match stopped find, which did not read the rest of the machine."
  ) do |stage|
    stage.say "examples/first_ten.rb: Godwit::Shell.rows(\"find\", \"/\", …)" \
      ".lazy.select { … }.first(10)"
    short = %w[find lib -name *.rb] if Bench.quick?
    stage.say stage.example("first_ten", *(short ? ["perf", *short] : "test")).finish
  end

  scene(
    "CURVE: a directory of certificates says who may connect",
    seen: "Only a client whose public key is in the directory gets a reply; without its file it " \
      "is refused."
  ) do |stage|
    Dir.mktmpdir do |dir|
      clients = File.join(dir, "clients")
      Dir.mkdir(clients)
      keys = File.join(dir, "anna.key_secret")
      stage.say "godwit keygen anna; cp anna.key clients/"
      stage.godwit("keygen", "anna", "--dir", dir).finish
      FileUtils.cp(File.join(dir, "anna.key"), clients)
      server = stage.example("curve_server", "tcp://127.0.0.1:*", clients)
      _, endpoint, key = *server.wait_for(/^ready at (\S+), public key (.{40})$/)
      stage.say "examples/curve_server.rb serves the clients in clients/"
      client = ->(*files) { stage.example("curve_client", endpoint, key, *files) }
      stage.say "anna:                 #{client.call(keys).finish}"
      stage.say "a stranger:           #{client.call.finish(status: 1)}"
      stage.say "the server says:      #{server.wait_for(/^refused: .*\n/)[0]}"
      File.delete(File.join(clients, "anna.key"))
      stage.say "rm clients/anna.key"
      stage.say "anna, once more:      #{client.call(keys).finish(status: 1)}"
      refusals = server.wait_for(/^refused: .*\n(?:.*\n)*?(refused: .*\n)/)
      stage.say "the server says:      #{refusals[1]}"
    end
  end

  scene(
    "Logs of three processes in one place, while one of them is killed",
    seen: "The reader counts the records of each writer, and the killed writer stopped no other."
  ) do |stage|
    reader = stage.example("logger/reader", "tcp://127.0.0.1:*")
    endpoint = reader.wait_for(/^ready at (\S+)$/)[1]
    stage.say "examples/logger/reader.rb, and three times examples/logger/writer.rb; kill -9 " \
      "ends the third half way"
    *writers, killed = %w[billing shop mail].map do |program|
      stage.example("logger/writer", endpoint, program, LOG_COUNT)
    end
    killed.wait_for(/half/)
    killed.stop
    writers.each { |writer| stage.say writer.finish.lines.last }
    stage.say reader.finish.lines.drop(1).join
  end

  scene(
    "Measuring: a matrix of two agents, and a load whose sender stops for half a " \
      "second",
    seen: "The sender stood still for half a second: the row 'intended' counts that delay, the " \
      "row 'actual' hides it."
  ) do |stage|
    hosts = %w[web1 web2].map do |name|
      agent = stage.godwit("perf", "serve", "tcp://:*", "--agent")
      "#{name}=#{agent.wait_for(/serves at (\S+)/)[1]}"
    end
    stage.say "godwit perf matrix web1=tcp://… web2=tcp://…"
    stage.say stage.godwit("perf", "matrix", *hosts).finish
    server = stage.godwit("perf", "serve", "tcp://127.0.0.1:*")
    endpoint = server.wait_for(/serves at (\S+)/)[1]
    puts
    stage.say "godwit perf load #{endpoint} --rate 2k --time 4; kill -STOP and -CONT stop it " \
      "for half a second"
    load = stage.godwit("perf", "load", endpoint, "--rate", "2k", "--time", 4)
    load.pause(after: 3, seconds: 0.5)
    stage.say load.finish
  end

  scene(
    "godwit-work: consumers on one SQLite file; one of their processes is " \
      "killed",
    seen: "A second process did the work that the killed one left, and no record was lost."
  ) do |stage|
    Dir.mktmpdir do |folder|
      url = "sqlite:#{File.join(folder, "work.db")}"
      stage.payments(url, folder, WORK_COUNT, "the kill of a process") do |consumer|
        consumer.stop
        stage.work(url, "payments", folder)
        "kill -9 of the consumer process; another takes over"
      end
    end
  end

  scene(
    "The same consumer on Kafka; the broker is killed and starts again",
    seen: "The consumer of the scene before ran on Kafka, and continued after the outage.",
    needs: "librdkafka, and Kafka's broker at KAFKA_BROKERS=host:9092"
  ) do |stage|
    stage.skip("a short run") if Bench.quick?
    given, count = Broker.given, WORK_COUNT / 4
    stage.skip(NO_BROKER) unless Broker.available?
    Dir.mktmpdir do |folder|
      if given
        next stage.payments("kafka://#{given}", folder, count, "nothing") do
          "half of them are paid (the brokers of KAFKA_BROKERS are not killed)"
        end
      end
      Broker.open(properties: TRANSACTIONS) do |broker|
        stage.payments("kafka://#{broker.brokers}", folder, count, "an outage") do
          broker.kill
          start = Bench.now
          broker.start
          format("kill -9 of the broker; it accepts connections again after %.1f s",
            Bench.now - start)
        end
      end
    end
  end

  scene(
    "Two programs written for ffi-rzmq, unchanged, on Godwit: one on CRuby, the other on " \
      "JRuby",
    seen: "Two old programs for ffi-rzmq exchanged messages on Godwit, without a change."
  ) do |stage|
    endpoint = "tcp://127.0.0.1:#{free_port}"
    missing =
      if !Demo.all? then "needs JRuby, which bin/demo --all installs"
      elsif Bench.quick? then "a short run"
      else Godwit::JRuby.missing
      end
    both = "local_lat.rb on CRuby, over the C extension; remote_lat.rb on JRuby, over FFI"
    stage.say missing ? "both on CRuby; the other #{missing}" : both
    stage.old_program("ffi-rzmq", "local_lat", endpoint, SIZE, ROUND_TRIPS)
    jruby = missing ? [RbConfig.ruby] : Godwit::JRuby.command(java: Godwit::JRuby::SHORT)
    client = stage.old_program("ffi-rzmq", "remote_lat", endpoint, SIZE, ROUND_TRIPS, ruby: jruby)
    stage.say client.finish
  end

  scene(
    "A device without CRuby: mruby sends readings over CURVE, is killed and comes " \
      "back",
    seen: "A program of a few MiB sent encrypted readings, and continued after a kill.",
    needs: "mruby"
  ) do |stage|
    stage.skip("it needs mruby (#{MRubyBuild::PACKAGES})") unless MRubyBuild.possible?
    program = File.join(MRubyBuild.new.build, "mruby-godwit")
    Dir.mktmpdir do |dir|
      clients = File.join(dir, "clients")
      Dir.mkdir(clients)
      %w[collector device].each { |name| stage.godwit("keygen", name, "--dir", dir).finish }
      FileUtils.cp(File.join(dir, "device.key"), clients)
      collector = stage.example("mruby/collector", "tcp://127.0.0.1:*", "0.2",
        File.join(dir, "collector.key_secret"), clients)
      endpoint = collector.wait_for(/^ready at (\S+)$/)[1]
      device = ["device", endpoint, File.join(dir, "collector.key"),
        File.join(dir, "device.key_secret")]
      stage.say "examples/mruby/device.rb on mruby #{MRubyBuild.version}, " \
        "examples/mruby/collector.rb on CRuby"
      first = stage.mruby(program, *device)
      stage.say collector.wait_for(/^device: reading 1,.*\n(?:.*\n)*?device: reading 3,.*\n/)[0]
      first.stop
      stage.say "kill -9 of the device; it starts again"
      second = stage.mruby(program, *device)
      again = /reading 3,(?:.*\n)+?(device: reading 1,.*\n(?:.*\n)*?device: reading 3,.*\n)/
      stage.say collector.wait_for(again)[1]
      stage.say format("the device has %.1f MiB of memory of its own (RssAnon)",
        second.memory / 1024.0)
      stage.say format("its program has %.1f MiB (%.1f MiB without debug information), beside " \
        "libzmq", *sizes(program, dir))
    end
  end

  scene(
    "The edge: Ruby inside nginx answers with data from Redis, which is killed under " \
      "load",
    seen: "nginx answered while Redis was away: with an error within its time limit, then with " \
      "data.",
    needs: "nginx, Redis and mruby"
  ) do |stage|
    reason = missing_edge
    stage.skip("it needs the edge: #{reason}") if reason
    stage.say "examples/edge/json_api.rb and hello.rb; `rake edge:demo` takes longer"
    stage.say stage.run(RbConfig.ruby, "examples/edge/demo.rb", 1).finish
  end

  scene(
    "The platform gem: installed into an empty folder, without a compiler",
    seen: "The gem has libzmq in it: it needed no compiler and no other package."
  ) do |stage|
    reason = Godwit::NativeGem.unbuilt
    stage.skip("it needs the built gem: #{reason}") if reason
    gem = "pkg/#{File.basename(Godwit::NativeGem.path)}"
    Dir.mktmpdir do |home|
      ruby = ["/usr/bin/env", "-i", "PATH=", "GEM_HOME=#{home}", "GEM_PATH=#{home}",
        RbConfig.ruby]
      start = Bench.now
      stage.run(*ruby, "-rrubygems/gem_runner", "-e", "Gem::GemRunner.new.run(ARGV)", "install",
        "--local", "--no-document", gem).finish
      stage.say format("gem install %s: %.1f s, with an empty PATH", gem, Bench.now - start)
      stage.say stage.run(*ruby, "#{home}/bin/godwit", "version").finish.lines[1]
      endpoint = "tcp://127.0.0.1:#{free_port}"
      stage.run(*ruby, "examples/server.rb", endpoint)
      stage.say "examples/server.rb, examples/client.rb on this gem"
      stage.say stage.run(*ruby, "examples/client.rb", endpoint).finish.lines.last
      stage.clear
    end
  end

  class << self
    # @return [Boolean] whether it runs the scenes that need more than `bin/setup --demo` installs
    def all? = @all

    def run(arguments)
      return list if [["--list"], ["--help"]].include?(arguments)
      abort "usage: bin/demo [--all | --list]" unless [[], ["--all"]].include?(arguments)
      @all = arguments.any?
      SCENES.each_with_index do |scene, index|
        puts "", "#{index + 1}. #{scene.title}"
        Stage.play { |stage| show(scene, stage) }
      end
      puts "", "Each scene is a small program to read and change: ls examples"
    rescue Bench::Failure => error
      abort "the demo failed: #{error.message}"
    end

    private

    def show(scene, stage)
      catch(:skipped) do
        if scene.needs && !all?
          stage.skip("it needs #{scene.needs} (bin/demo --all)")
        end
        scene.play.call(stage)
        stage.say("=> #{scene.seen}")
      end
    end

    def list
      puts "bin/demo runs these scenes, in under a minute; those with * only with --all:",
        SCENES.map.with_index(1) { |scene, number|
          "#{number}. #{scene.title}#{" *" if scene.needs}"
        }
    end

    # @return [Array<Float>] MiB of a program, as it is and stripped
    def sizes(program, dir)
      stripped = File.join(dir, "stripped")
      system("strip", "-o", stripped, program, exception: true)
      [program, stripped].map { |file| File.size(file) / 1024.0**2 }
    end

    # @return [String, nil] what the edge needs and is neither here nor to be fetched
    def missing_edge
      EdgeBuild.missing || begin
        %i[nginx redis_server wrk].each { |name| EdgePrograms.public_send(name) }
        nil
      end
    rescue Godwit::DebianSource::Failure => error
      error.message.tr("\n", " ")
    end

    # A port that was free a moment ago. server.rb needs a fixed port, because client.rb has to know
    # it. TCPServer finds the port: a closed ZeroMQ socket may keep its port a moment longer.
    def free_port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }

    # Runs the pairs in turns, so that other load of the machine affects all.
    # @return [Array<Array(String, Float, Float)>] name, messages/s, share of the first's
    def medians(stage, pairs)
      rounds = Array.new(ROUNDS) { pairs.values.map { |pull, push| rate(stage, pull, push) } }
      middle = rounds.transpose.map { |rates| rates.sort[ROUNDS / 2] }
      pairs.keys.zip(middle).map { |name, rate| [name, rate, rate / middle.first] }
    end

    # The receiver binds and prints its endpoint, the sender connects; the receiver measures the
    # time.
    def rate(stage, pull, push)
      receiver = start(stage, *pull)
      endpoint = receiver.wait_for(%r{tcp://127\.0\.0\.1:\d+})[0]
      kind, name, *rest = push
      start(stage, kind, name, endpoint, *rest)
      Float(receiver.wait_for(/"rate":([\d.]+)|^(\d+) messages/).captures.compact.first)
    end

    def start(stage, kind, name, *arguments)
      return stage.example(name, *arguments) unless kind == :c
      stage.run(Bench::Programs.c(name), *arguments)
    end
  end
end

require "godwit"
Demo.run(ARGV)
