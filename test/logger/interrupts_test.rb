# frozen_string_literal: true

require_relative "logs"

# An interrupt (Timeout, Thread#raise) in a thread that logs, or that makes or closes a logger, ends
# the call, not the logger. exit_test.rb interrupts a close that waits.
class LoggerInterruptsTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  class Stop < StandardError; end

  def setup
    super
    not_on :jruby, "a TracePoint there does not see Java's methods"
  end

  # Calls `code`, and raises in this thread at the first return of a C method for which the block
  # is true.
  # @return [Boolean] whether it raised
  def stopped?(code)
    here = Thread.current
    trace = TracePoint.new(:c_return) do |point|
      next unless Thread.current.equal?(here) && yield(point)
      trace.disable
      here.raise(Stop)
    end
    trace.enable { code.call }
    false
  rescue Stop
    true
  end

  {"the sender begins" => :info, "the logger is closed" => :close}.each do |what, name|
    test "when it has just taken the lock under which #{what}" do
      log = logger
      log.info("first") if name == :close
      call = -> { log.public_send(name, *("first" if name == :info)) }
      assert stopped?(call) { |point| point.method_id == :try_lock }
      log.info("second") if name == :info
      assert in_thread { log.close }.join(5)
      assert_equal((name == :info) ? "second" : "first", record.text)
    end
  end

  # Raises at the nth return of a C method, unless `Logger.new` has returned before: from then on
  # the program has the logger, and must close it.
  def stopped_at?(number, code)
    made = false
    stopped?(code) do |point|
      made ||= point.self.equal?(Godwit::Logger) && point.method_id == :new
      !made && (number -= 1).zero?
    end
  end

  %i[durable bind].each do |name|
    test "wherever the start of a logger with #{name}: is interrupted, its resources are free" do
      may_lose
      options = {name => (name == :bind) || "#{scratch_dir}/durable"}
      start = -> { Godwit::Logger.new(nowhere, linger: 0, **options).close }
      start.call # loads the files that the first logger needs, so that no later run loads them
      number = 1
      while stopped_at?(number, start)
        start.call
        number += Godwit::TestSupport::Length.of(7, long: 3)
      end
      assert_operator number, :>, 100
    end
  end
end
