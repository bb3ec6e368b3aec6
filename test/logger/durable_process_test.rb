# frozen_string_literal: true

require "test_helper"

# Durable logs in processes that fork, handle signals or end, and on a full disk.
class LoggerDurableProcessTest < Godwit::TestCase
  PRELUDE = <<~'RUBY'
    require "godwit"
    FOLDER = ARGV.fetch(0)
    IN = "ipc://#{FOLDER}/in"

    def receiver
      @receiver ||= Godwit::Logger::Receiver.new(IN, Godwit::Logger::Sink.new("#{FOLDER}/app.log"))
    end

    def log_to(**options)
      Godwit::Logger.new(
        IN, durable: "#{FOLDER}/durable", reconnect_interval: 0.01, linger: 5, **options
      )
    end

    def texts
      return [] unless File.exist?("#{FOLDER}/app.log")
      File.readlines("#{FOLDER}/app.log", chomp: true).map { |line| line[/: (.*)\z/, 1] }
    end

    def finish
      receiver.close
      receiver.sink.close
      puts texts
      puts Dir["#{FOLDER}/durable/*/"].size
    end
  RUBY

  def run_program(program, **options)
    assert_child(run_child(PRELUDE + program, [scratch_dir], **options)).stdout.lines(chomp: true)
  end

  # Threads log while the process ends, or while another thread closes the logger. Each record for
  # which `info` returned true is then on the disk.
  {
    "the process ends, and lingers in vain" => "",
    "another thread closes the logger" => "log.close"
  }.each do |how, ending|
    test "records that are confirmed while #{how} are on the disk, and nothing else" do
      printed = run_program(<<~RUBY)
        log = log_to(linger: 0.3)
        $stderr.reopen(File::NULL)
        results = File.open("\#{FOLDER}/results", "w")
        4.times do |thread|
          Thread.new do
            1.step do |index|
              id = "<\#{thread}.\#{index}>"
              results.syswrite("\#{log.info(id).inspect} \#{id}\n")
              Thread.pass
            end
          end
        end
        await { File.size(results) > 1000 }
        #{ending}
      RUBY
      assert_empty printed
      results = File.readlines("#{scratch_dir}/results", chomp: true).map(&:split)
      files = Dir["#{scratch_dir}/durable/**/*"].select { |path| File.file?(path) }
      stored = files.flat_map { |path| File.binread(path).scan(/<\d\.\d+>/) }
      confirmed, others =
        results.partition { |answer, _| answer == "true" }.map { |some| some.map(&:last) }
      assert_operator confirmed.size, :>, 50
      assert_empty confirmed - stored
      assert_empty others & stored, "refused, and stored"
      assert_equal stored.uniq, stored
    end
  end

  test "forked children log, each under its own id and in its own folder, which goes when all is " \
    "taken" do
    not_on :ffi, "a forked child cannot use it"
    lines = run_program(<<~'RUBY')
      log = log_to
      log.info("parent 1")
      children = 3.times.map do |one|
        fork do
          100.times { |index| log.info("child#{one} #{index}") }
          exit!(1) if Dir["#{FOLDER}/durable/*/"].empty?
        end
      end
      log.info("parent 2")
      receiver # it opens after the forks, so no child has it
      children.each { |pid| Process.wait(pid); abort("a child failed") unless $?.success? }
      log.close
      finish
    RUBY
    assert_equal "0", lines.pop
    of = lines.group_by { |line| line[/\A\w+/] }
    assert_equal ["parent 1", "parent 2"], of.delete("parent")
    assert_equal 3, of.size
    of.each { |one, some| assert_equal (0...100).map { |index| "#{one} #{index}" }, some }
  end

  test "records that a killed child leaves are sent by the next user of the folder" do
    not_on :ffi, "a forked child cannot use it"
    lines = run_program(<<~'RUBY')
      log = log_to(linger: 0)
      child = fork do
        50.times { |index| log.info("child #{index}") }
        Process.kill(:KILL, Process.pid)
      end
      Process.wait(child)
      $stderr.reopen(File::NULL)
      log.close
      receiver
      again = log_to
      again.info("again")
      await { texts.size == 51 }
      again.close
      finish
    RUBY
    assert_equal ["again", *(0...50).map { |index| "child #{index}" }, "0"].sort, lines.sort
  end

  test "a child that survives does not lock the folder for the next process" do
    not_on :ffi, "a forked child cannot use it"
    lines = run_program(<<~RUBY)
      reader, writer = IO.pipe
      parent = fork do
        log = log_to
        log.info("first")
        fork { writer.puts(Process.pid) || sleep } # a child that runs on holds no lock
        sleep
      end
      child = reader.gets.to_i
      Process.kill(:KILL, parent)
      Process.wait(parent)
      receiver
      log = log_to
      log.info("second")
      log.close
      Process.kill(:KILL, child)
      finish
    RUBY
    assert_equal ["first", "second", "0"], lines
  end

  test "a daemon continues in its parent's folder, and sends what the parent could not" do
    not_on :ffi, "a forked child cannot use it"
    lines = run_program(<<~RUBY)
      fork do
        log = log_to
        log.info("first")
        Process.daemon(true, true)
        log.info("second")
        receiver
        await { texts.size == 2 }
        log.close
        finish
      end
      Process.wait
    RUBY
    assert_equal ["first", "second", "0"], lines
  end

  test "trap handlers log too, also during a call that logs" do
    lines = run_program(<<~'RUBY')
      receiver
      log = log_to
      handled = sent = 0
      trap("USR1") do
        log.info("trap #{handled}")
        handled += 1
      end
      signals = Thread.new do
        50.times do
          Process.kill(:USR1, Process.pid)
          sent += 1
          Thread.pass until handled == sent
        end
      end
      index = -1
      log.info("main #{index += 1}") while signals.alive?
      abort(log.stats.inspect) unless log.flush(timeout: 10)
      await { texts.size == 51 + index }
      log.close
      finish
    RUBY
    lines.pop
    lines.group_by { |line| line[/\w+/] }.each do |name, some|
      assert_equal (0...some.size).map { |index| "#{name} #{index}" }, some
    end
    assert_equal 50, lines.grep(/trap/).size
  end

  test "a receiver with a full disk reports it, acknowledges nothing, and continues when there " \
    "is room" do
    not_on :jruby, "it has no Process.setrlimit"
    lines = run_program(<<~'RUBY')
      trap("XFSZ", "IGNORE")
      child = fork do
        $stderr.reopen(File::NULL)
        trap("USR1") { Process.setrlimit(:FSIZE, Process::RLIM_INFINITY, Process::RLIM_INFINITY) }
        Process.setrlimit(:FSIZE, 3_000, Process::RLIM_INFINITY) # set before a record arrives
        receiver
        sleep
      end
      log = log_to
      100.times { |index| log.info("record #{index}") }
      $stderr.reopen(File::NULL)
      await { log.stats.last_error }
      warning = log.stats.last_error.message
      abort(warning) unless warning.include?("the receiver cannot write")
      # The receiver may be writing the last line at this moment, so a line without its end does
      # not count. A torn line that stays is in the middle of the file at the end of the test.
      whole = File.readlines("#{FOLDER}/app.log").grep(/\n\z/).map { |line| line[/: (.*)$/, 1] }
      unless whole.any? && whole == Array.new(whole.size) { |index| "record #{index}" }
        abort("torn: #{whole.last}")
      end
      Process.kill(:USR1, child)
      abort(log.stats.inspect) unless log.flush(timeout: 10)
      log.close
      Process.kill(:KILL, child)
      Process.wait(child)
      finish
    RUBY
    assert_equal [*(0...100).map { |index| "record #{index}" }, "0"], lines
  end

  # `info` makes records of level 1. The logger itself adds records of level 2 that report drops.
  test "on a full disk each record counts once: acknowledged, queued or dropped" do
    skip Godwit::TestSupport::Tmpfs.missing if Godwit::TestSupport::Tmpfs.missing
    Dir.mkdir(folder = File.join(scratch_dir, "durable"))
    lines = run_program(<<~'RUBY', disk: [256 << 10, folder])
      $stderr.reopen("#{FOLDER}/said", "w")
      $stderr.sync = true
      filler = "#{FOLDER}/durable/filler"
      fill = ->(free) do
        File.write(filler, "x" * (256 << 10)) rescue nil
        File.truncate(filler, File.size(filler) - free)
      end
      counts = ->(log) { log.stats.to_h.values_at(:sent, :queued, :dropped) }

      fill.(40_000)
      log = log_to(linger: 0, durable_bytes: 200_000) # segments of 25 kB
      random = Random.new(1)
      write = ->(count) { Array.new(count) { log.info("x" * random.rand(1_500)) }.count(true) }
      stored = write.(400)
      p [counts.(log), [0, stored, 400 - stored]]
      4.times do # each turn has room for some records and for reports of drops
        File.truncate(filler, File.size(filler) - 8_192)
        stored += write.(100)
      end
      p [counts.(log), [0, stored, 800 - stored]]
      log.close
      p [File.read("#{FOLDER}/said")[/: (\d+) records are kept in \S+ for the next start$/, 1].to_i,
        stored]

      files = Dir["#{FOLDER}/durable/*.seg"].map { |name| File.binread(name) }
      on_disk, reports = ['"level":1,', '"level":2,'].map { |level| files.join.scan(level).size }
      log = log_to(durable_bytes: 200_000) # as in the next process
      p [[log.stats.queued, on_disk, files.size > 2, reports.positive?],
        [on_disk + reports, stored, true, true]]
      stored = write.(100)
      p [counts.(log), [0, on_disk + reports + stored, 100 - stored]]
      File.truncate(filler, 0)
      receiver
      stored += write.(100)
      abort(log.stats.inspect) unless log.flush(timeout: 10)
      p [counts.(log), [stored, 0, 200 - stored]]
      log.close
      receiver.close
      receiver.sink.close
      p [texts.grep(/\Ax*\z/).size, on_disk + stored]
    RUBY
    assert_equal 7, lines.size
    lines.each_with_index { |line, index| assert_equal(*JSON.parse(line).reverse, "line #{index}") }
  end
end
