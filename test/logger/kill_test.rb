# frozen_string_literal: true

require "test_helper"

# kill -9 of durable writers and of their receiver, at random moments, with rotation and with other
# records in the same file: the file holds each record once, in order per writer.
# GODWIT_LOGGER_KILL_SECONDS sets a longer run (rake logger:kills).
class LoggerKillTest < Godwit::TestCase
  Length = Godwit::TestSupport::Length
  SECONDS = Float(ENV.fetch("GODWIT_LOGGER_KILL_SECONDS") { Length.of("1.5", long: "3") })
  SEED = Integer(ENV.fetch("GODWIT_LOGGER_KILL_SEED") { Length.of(4711, long: rand(1 << 16)) })
  CHILD_DEADLINE = SECONDS + 30
  deadline SECONDS + 60

  # Logs numbers until standard input ends, and writes each accepted number to the file `mark`. The
  # kernel stores what was written, so a kill of the process does not lose the number.
  NUMBERS = <<~RUBY
    require "godwit"
    mark = File.open(ARGV.fetch(0), File::RDWR | File::CREAT | File::BINARY)
    stopping = false
    Thread.new { $stdin.read; stopping = true }
    each_number = lambda do |&log|
      (1..).each do |number|
        break if stopping
        log.call(number)
        mark.pwrite([number].pack("Q>"), 0)
        Thread.pass
      end
    end
  RUBY

  WRITER = <<~RUBY
    #{NUMBERS}
    log = Godwit::Logger.new(ARGV.fetch(1), durable: ARGV.fetch(2), progname: "billing", linger: 20)
    each_number.call do |number|
      sleep(0.001) if (number % 50).zero?
      log.info(ARGV.fetch(3) + " " + number.to_s)
    end
    puts(log.flush(timeout: 20) ? "flushed" : "not flushed: " + log.stats.inspect)
    log.close
  RUBY

  RECEIVER = <<~RUBY
    #{NUMBERS}
    sink = Godwit::Logger::Sink.new(ARGV.fetch(1), rotate: 40_000)
    receiver = Godwit::Logger::Receiver.new(ARGV.fetch(2), sink)
    each_number.call do |number|
      sleep(0.002)
      receiver.sink.write([Godwit::Logger::Record.parse(ARGV.fetch(3) + " " + number.to_s)])
    end
    receiver.close
    receiver.sink.close
    puts "closed"
  RUBY

  # Name => program, and its arguments after the path of its file `mark`.
  def programs
    endpoint = endpoint_for(:ipc_file)
    {
      "a" => [WRITER, endpoint, path("durable a")], "b" => [WRITER, endpoint, path("durable b")],
      "plain" => [RECEIVER, path("app.log"), endpoint]
    }
  end

  # Starts the program with this name. Each start has its own file `mark`, with its own name.
  def start(name)
    program, *arguments = @programs[name]
    mark = "#{name}#{@taken.size}"
    @taken[mark] = nil
    arguments = [path(mark), *arguments, mark]
    @running[name] = [mark, start_child(program, arguments, deadline: CHILD_DEADLINE)]
  end

  # @return [Integer] the number of accepted records that the program wrote to this file `mark`
  def taken(mark)
    File.binread(path(mark)).unpack1("Q>") || 0
  rescue Errno::ENOENT
    0
  end

  def kill(name, random)
    mark, child = @running[name]
    goal = taken(mark) + random.rand(100)
    # Under load the receiver writes a few of its own records a second beside the durable ones.
    eventually("#{mark} came to nothing: #{child.stderr}", deadline: CHILD_DEADLINE) do
      taken(mark) >= goal
    end
    result = child.signal(:KILL).finish
    assert_equal [9, ""], [result.status.termsig, result.stderr], result.to_s
    @taken[mark] = taken(mark)
  end

  def finish(name, says)
    mark, child = @running[name]
    result = assert_child(child.finish)
    assert_equal "#{says}\n", result.stdout, result.to_s
    @taken[mark] = taken(mark)
  end

  def in_file
    old = Dir[path("app.log.*")].grep(/\.\d+\z/).sort_by { |name| -name[/\d+\z/].to_i }
    [*old, path("app.log")].flat_map { |name| File.readlines(name, chomp: true) }
  end

  test "with any process killed, the file holds each accepted record once, in order" do
    not_on :jruby, "its processes take seconds to begin, and three run at once"
    random = Random.new(SEED)
    @programs, @taken, @running = programs, {}, {}
    @programs.each_key { |name| start(name) }
    finish = monotonic + SECONDS
    kills = 0
    while monotonic < finish || kills < 6
      name = @programs.keys.sample(random: random)
      kill(name, random)
      start(name)
      kills += 1
    end
    {"a" => "flushed", "b" => "flushed", "plain" => "closed"}.each { |one, says| finish(one, says) }
    check(" (seed #{SEED}, #{kills} kills)")
  end

  def check(run)
    lines = in_file
    seen = Hash.new { |hash, key| hash[key] = [] }
    lines.each do |line|
      match = line.match(/\A(?:I, \[.*billing: )?([a-z]+\d+) (\d+)\z/)
      refute_nil match, "an invented line: #{line.inspect}#{run}"
      seen[match[1]] << match[2].to_i
    end
    @taken.each do |mark, taken|
      numbers = seen[mark]
      assert_equal (1..numbers.size).to_a, numbers, "#{mark}: each once, in order#{run}"
      # the logger may have accepted one record more than the killed process has noted in `mark`
      assert_includes [taken, taken + 1], numbers.size, "#{mark}: #{taken} were taken#{run}"
    end
    puts "#{lines.size} records#{run}" if ENV["GODWIT_LOGGER_KILL_SECONDS"]
  end
end
