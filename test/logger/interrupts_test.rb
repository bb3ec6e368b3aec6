# frozen_string_literal: true

require_relative "logs"

# An interrupt (Timeout, Thread#raise) in a thread that logs or closes ends the call, not the
# logger.
class LoggerInterruptsTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  class Stop < StandardError; end

  def folder = "#{scratch_dir}/durable"

  # Raises in this thread as soon as the C method of this name returns.
  def stopped_after(name)
    here = Thread.current
    trace = TracePoint.new(:c_return) do |point|
      next unless point.method_id == name && Thread.current.equal?(here)
      trace.disable
      here.raise(Stop)
    end
    assert_raises(Stop) { trace.enable { yield } }
  end

  {"the sender begins" => :info, "the logger is closed" => :close}.each do |what, name|
    test "when it has just taken the lock under which #{what}" do
      not_on :jruby, "a TracePoint there does not see Java's methods"
      log = logger
      log.info("first") if name == :close
      stopped_after(:try_lock) { log.public_send(name, *("first" if name == :info)) }
      log.info("second") if name == :info
      assert in_thread { log.close }.join(5)
      assert_equal((name == :info) ? "second" : "first", record.text)
    end
  end

  # Raises in this thread when the count of returned C methods reaches `count`.
  # @return [Boolean] whether the count was reached
  def cut_short(count)
    here = Thread.current
    trace = TracePoint.new(:c_return) do |point|
      next unless Thread.current.equal?(here)
      # From here on the program has the logger, and must close it.
      next trace.disable if point.self.equal?(Godwit::Logger) && point.method_id == :new
      next unless (count -= 1).zero?
      trace.disable
      here.raise(Stop)
    end
    trace.enable { yield }
    false
  rescue Stop
    true
  end

  {"durable: folder" => -> { {durable: folder} },
   "bind: true" => -> { {bind: true} }}.each do |name, options|
    test "wherever the start of a logger with #{name} is interrupted, its resources are free" do
      not_on :jruby, "a TracePoint there does not see Java's methods"
      may_lose
      options = instance_exec(&options)
      cut = -> { Godwit::Logger.new(nowhere, linger: 0, **options) }
      cut.call.close # loads the files that the first logger needs
      count = 1
      while cut_short(count) { cut.call.close }
        cut.call.close
        count += Godwit::TestSupport::Length.of(7, long: 3)
      end
      assert_operator count, :>, 100
    end
  end
end
