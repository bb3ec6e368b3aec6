# frozen_string_literal: true

require_relative "logs"

# Signal handlers log, although they may not lock a Mutex.
class LoggerTrapTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  test "every record of a thousand handlers arrives, and no ThreadError" do
    result = assert_logs(<<~RUBY)
      log = Godwit::Logger.new(ENDPOINT, progname: "trapped")
      runs = 0
      Signal.trap(:USR1) do
        log.info("run", number: runs)
        runs += 1
      end
      1000.times do |number|
        Process.kill(:USR1, Process.pid)
        Thread.pass until runs > number # the system merges two pending signals
        log.debug("between") if number % 100 == 0
      end
      log.close
      p log.stats.dropped
    RUBY
    assert_equal "0\n", result.stdout
    received = records(1010)
    assert_equal (1..1010).to_a, received.map(&:seq)
    assert_equal (0...1000).to_a, received.filter_map { |one| one.payload && one.payload["number"] }
  end

  test "the first record of a process, and of a forked child, may be a handler's; it may carry " \
    "an error and tags" do
    not_on :ffi, "a forked child cannot use it"
    assert_logs(<<~RUBY)
      log = Godwit::Logger.new(ENDPOINT)
      done = false
      Signal.trap(:USR1) do
        log.tagged("t") { log.error(RuntimeError.new(Process.pid.to_s)) }
        done = true
      end
      fire = lambda do
        done = false
        Process.kill(:USR1, Process.pid)
        Thread.pass until done
      end
      fire.call
      Process.wait(fork { fire.call; exit })
    RUBY
    received = records(2)
    assert_equal received.map { |one| one.pid.to_s }, received.map { |one| one.error["message"] }
    assert_equal [["t"], ["t"]], received.map(&:tags)
    assert_equal 2, received.map(&:writer).uniq.size
  end

  test "in a handler a full queue drops, whatever the policy; close works there" do
    not_on :jruby, "its trap handlers run in another thread, which may wait"
    result = assert_child run_child(<<~RUBY)
      require "godwit"
      %i[drop_new drop_old block].each do |policy|
        log = Godwit::Logger.new("#{nowhere}", queue: 2, overflow: policy, linger: 0.1)
        ended = false
        Signal.trap(:USR1) do
          10.times { log.info("x") }
          puts "\#{policy} dropped \#{log.stats.dropped >= 6}"
          log.close
          ended = true
        end
        Process.kill(:USR1, Process.pid)
        Thread.pass until ended
      end
    RUBY
    assert_equal "drop_new dropped true\ndrop_old dropped true\nblock dropped true\n", result.stdout
    assert_equal 3, result.stderr.scan(/records not sent; connection refused at .*\n/).size
  end

  {"durable" => ["", "[1, 0]\nfalse", /\Agodwit: log to ipc.*1 record is kept in .*\n\z/],
   "spool" => ["overflow: :spool, ", "[0, 1]\ntrue", //]}.each do |kind, (overflow, answers, says)|
    test "a handler asks a #{kind} logger how far it is, and closes it: nothing raises" do
      result = assert_child run_child(<<~RUBY, signal: :USR1)
        require "godwit"
        log = Godwit::Logger.new("ipc://#{scratch_dir}/nobody",
          linger: 0, #{overflow}#{kind}: "#{scratch_dir}/own")
        log.info("x")
        Thread.pass until log.stats.to_h.values_at(:queued, :spooled) == #{answers.lines.first}
        trap("USR1") do
          p log.stats.to_h.values_at(:queued, :spooled), log.flush(timeout: 2) # JRuby waits 2 s
          log.close
          exit
        end
        $stdout.syswrite("ready\n")
        sleep
      RUBY
      assert_equal "ready\n#{answers}\n", result.stdout
      assert_match says, result.stderr
    end
  end

  test "a handler that logs does not raise where another thread waits for its records to go" do
    not_on :jruby, "its trap handlers run in another thread, which may wait"
    result = assert_child run_child(<<~RUBY, signal: :USR1)
      require "godwit"
      log =
        Godwit::Logger.new("ipc://#{scratch_dir}/nobody", queue: 2, overflow: :drop_old, linger: 0)
      log.info("first")
      room = log.instance_variable_get(:@handle).current.queue
      Thread.pass until room.empty? # the sender has dequeued that record, and waits
      flushing = Thread.new { log.flush }
      Thread.pass until room.size == 1
      trap("USR1") do
        4.times { |number| log.info(number) }
        p flushing.join(5)&.value
        $stderr = File.open(File::NULL, "w")
        log.close
        exit
      end
      $stdout.syswrite("ready\n")
      sleep
    RUBY
    assert_equal "ready\ntrue\n", result.stdout
  end
end
