# frozen_string_literal: true

require_relative "logs"

# When the process ends, each record arrives or is reported as unsent; linger limits the delay.
class LoggerExitTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  {
    "by itself" => "",
    "by SIGTERM" => "$stderr.reopen(File::NULL); Process.kill(:TERM, Process.pid); sleep"
  }.each do |how, ending|
    test "records logged before the end arrive, when it ends #{how}" do
      not_on(:jruby, "an untrapped signal ends Java") if how.include?("TERM")
      start_child(
        "require 'godwit'; log = Godwit::Logger.new(#{record_pull.last_endpoint.inspect}); " \
        "1_000.times { log.info('x') }; #{ending}"
      ).finish
      assert_equal (1..1_000).to_a, records(1_000).map(&:seq)
    end
  end

  # Prints the time at which the process's end begins, by the clock that all processes share.
  SAY_WHEN = "at_exit { $stdout.syswrite(Process.clock_gettime(Process::CLOCK_MONOTONIC).to_s) }"

  {
    "" => "123 records not sent; connection refused at ipc:.*: nobody listens there; is the " \
      "server started\\? If both sides connect, one side must bind",
    ", durable: ARGV[1]" => "123 records are kept in .*durable for the next start"
  }.each do |options, says|
    test "without a reader the end waits for linger, and reports how many were not " \
      "sent#{options}" do
      result = assert_child(run_child(<<~RUBY, [nowhere, "#{scratch_dir}/durable"]))
        require "godwit"
        log = Godwit::Logger.new(ARGV[0], linger: 0.5#{options})
        123.times { log.info("x") }
        #{SAY_WHEN}
      RUBY
      assert_operator monotonic - Float(result.stdout), :>=, 0.49
      assert_match(/\Agodwit: log to #{nowhere}: #{says}\n\z/, result.stderr)
    end
  end

  test "each logger reports its own records; one that never logged says nothing" do
    result = assert_child(run_child(<<~RUBY))
      require "godwit"
      5.times do |number|
        Godwit::Logger.new("ipc://#{scratch_dir}/idle\#{number}")
        Godwit::Logger.new("ipc://#{scratch_dir}/nobody\#{number}", linger: 0.2).info("x")
      end
    RUBY
    assert_equal Array.new(5) { |number| "nobody#{number}: 1 record not sent" },
      result.stderr.lines.sort.map { |line| line[/nobody\d: 1 record not sent/] }
  end

  test "an at_exit block that was registered earlier, as a test framework's, may log" do
    assert_logs(<<~RUBY)
      at_exit { 100.times { $log.info("late") } }
      at_exit { $log.info("later") }
      $log = Godwit::Logger.new(ENDPOINT)
      $log.info("early")
    RUBY
    assert_equal ["early", "later", *["late"] * 100], records(102).map(&:text)
  end

  test "after linger other threads start no writer, so the process ends; the main thread may log" do
    result = assert_child(run_child(<<~RUBY, [record_pull.last_endpoint]))
      require "godwit"
      at_exit { $log.info("of the main thread") && puts($log.stats.dropped) }
      at_exit { Thread.new { $log.info("of another thread") }.join }
      at_exit { Thread.new { Godwit::Logger.new("#{nowhere}").info("of its first logger") }.join }
      ($log = Godwit::Logger.new(ARGV[0], linger: 0)).info("x")
      $log.flush
    RUBY
    assert_equal 2, result.stderr.scan(/it is closed: records are dropped$/).size
    assert_equal "0\n", result.stdout # of the writer that the main thread started
  end

  test "a close that is killed while the end waits for it: the records are reported" do
    result = assert_child(run_child(<<~RUBY, [nowhere]))
      require "godwit"
      log = Godwit::Logger.new(ARGV[0], linger: 1)
      log.info("x")
      closing = Thread.new { log.close }
      Thread.pass until closing.stop? && log.inspect.include?("closed")
      Thread.new do
        Thread.pass until Thread.main.stop?
        closing.kill
      end
    RUBY
    assert_match(/1 record not sent/, result.stderr)
  end

  test "a $stderr without a reader delays neither the program nor its end" do
    may_lose
    assert_includes assert_child(run_child(<<~RUBY)).stdout, "went on"
      require "godwit"
      readers, (pipe, file) = Array.new(2) { IO.pipe }.transpose
      if RUBY_ENGINE != "jruby"
        File.mkfifo("#{scratch_dir}/fifo")
        file = File.open("#{scratch_dir}/fifo", "r+")
        file.sync = true
      end
      [file, pipe].each do |writing|
        loop { break if writing.write_nonblock("x" * 4096, exception: false) == :wait_writable }
      end
      $stderr = file
      Godwit::Logger.new("ipc://#{scratch_dir}/nobody", linger: 0).tap { |log| log.info("x") }.close
      $stderr = pipe
      log = Godwit::Logger.new("ipc://#{scratch_dir}/nobody", linger: 0)
      log.info("x")
      log.close
      log.info("late")
      log.reopen
      log.info("at exit")
      puts "went on \#{readers.size}"
    RUBY
  end

  test "an unreferenced logger is closed, and its records are sent" do
    not_on :jruby, "the moment of a Java collection is unpredictable"
    assert_logs(<<~RUBY)
      # The thread's stack goes with the thread, so no stack refers to the logger any more.
      Thread
        .new { Godwit::Logger.new(ENDPOINT).tagged("t") { |log| 100.times { log.info("x") } } }
        .join
      until Thread.list.none? { |thread| thread.name == "godwit logger" }
        Array.new(1000) { +"x" }
        GC.start
      end
    RUBY
    assert_equal (1..100).to_a, records(100).map(&:seq)
  end

  {
    "closes" => "",
    "is about to close" => <<~RUBY
      Godwit::Logger.const_get(:BaseWriter).prepend(Module.new do
        private def first_with(lock) = (Thread.current == Thread.main) ? super : sleep
      end)
    RUBY
  }.each do |verb, hold|
    test "a thread that #{verb} the logger has its linger, also when the process ends meanwhile" do
      child = start_child(<<~RUBY)
        require "godwit"
        log = Godwit::Logger.new("ipc://#{scratch_dir}/late", linger: 20)
        log.info("x")
        #{hold}
        closing = Thread.new { log.close }
        Thread.pass until #{hold.empty? ? 'log.inspect.include?("closed")' : "closing.stop?"}
        $stdout.syswrite "ending"
      RUBY
      child.wait_for("ending")
      socket = open_socket(:PULL).bind("ipc://#{scratch_dir}/late")
      assert_equal "x", socket.recv(timeout: 10).last
      assert_equal "", assert_child(child.finish).stderr
    end
  end

  {
    "" => "1 record not sent; connection refused at .*",
    ", durable: ARGV[1]" => "1 record is kept in .*durable for the next start"
  }.each do |options, says|
    test "records that an interrupted close did not send are reported at the end, without " \
      "another linger#{options}" do
      result = assert_child(run_child(<<~RUBY, [nowhere, "#{scratch_dir}/durable"]))
        require "godwit"
        require "timeout"
        log = Godwit::Logger.new(ARGV[0], linger: 100#{options})
        log.info("x")
        begin
          Timeout.timeout(0.05) { log.close }
        rescue Timeout::Error
          puts "cut short"
        end
      RUBY
      assert_equal "cut short\n", result.stdout
      assert_match(/: #{says}\n\z/, result.stderr)
    end
  end

  # Ruby kills the remaining threads again at each Ctrl-C. If a killed sender started a successor,
  # the process would never end.
  EARLY = <<~RUBY
    class Godwit::Logger
      # Acts like a Ctrl-C at the first line of close_all.
      Exit.define_singleton_method(:close_all) { |*| raise Interrupt }
      PushTransport.prepend(Module.new do
        def wait(*)
          super
        ensure
          sleep(0.05) # the killed thread ends slowly
        end
      end)
    end
  RUBY

  {"while it waits for linger" => "",
   "again and again, before the logger's part of the end began" => EARLY}.each do |moment, change|
    test "Ctrl-C ends the process #{moment}" do
      not_on :jruby, "an untrapped INT ends Java"
      child = start_child(<<~RUBY)
        require "godwit"
        #{change}
        log = Godwit::Logger.new("#{nowhere}", linger: 1000)
        log.info("x")
        at_exit { $stdout.syswrite "ending" }
      RUBY
      child.wait_for("ending")
      ending = in_thread { child.finish }
      eventually do # the first signal may interrupt the at_exit block
        Process.kill(:INT, child.pid)
        !ending.alive?
      rescue Errno::ESRCH
        true
      end
      ending.join
    end
  end
end
