# frozen_string_literal: true

require "support/running_consumers"
require "json"

# Stuck handlers: those that run for longer than `stuck_after`.
class WorkStuckTest < Godwit::WorkCase
  include RunningConsumers

  # Runs a consumer whose handler is the block.
  # @return [Thread::Queue] of the events `stuck`
  def consume(handler = :perform, &block)
    declare
    klass = consumer(handler, &block)
    klass.stuck_after(0.01)
    run_consumers(klass, workers: 2)
    Thread::Queue.new.tap { |all| client.on(:stuck) { |event| all << event } }
  end

  def reports = engine.members.filter_map(&:report).flat_map { |text| JSON.parse(text) }

  test "an event and a report, once for each run, and with the backtrace" do
    gate = Thread::Queue.new
    stuck = consume { |message| gate.pop unless message.value == "fast" }
    produce("a", "fast", "b")
    event = stuck.pop
    message = event[:message]
    assert_equal ["t", "a", message.partition],
      [event[:topic], message.value, event[:partition]]
    assert_operator event[:seconds], :>=, 0.01
    # In Ruby 3.4 the backtrace begins with Queue#pop, and the handler's line is the second.
    assert_match(/stuck_test.rb:\d+:in /, event[:backtrace].first(2).join("\n"))
    eventually { reports.size == 1 }
    report = reports.first
    assert_equal ["t", message.partition, message.offset, event[:backtrace].first(100)],
      report.values_at("topic", "partition", "offset", "backtrace")
    since = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) - report["since"]
    assert_operator since, :>=, (event[:seconds] * 1000).floor
    gate << true
    assert_equal "b", stuck.pop[:message].value
    eventually { reports.map { |one| one["offset"] } == [2] }
    gate << true
    finished(3)
    eventually { reports.empty? }
    assert_empty stuck
  end

  test "a batch, also when its records are finished" do
    gate = Thread::Queue.new
    stuck = consume(:consume) do |batch|
      batch.to_a.each { |message| done(message) }
      gate.pop
    end
    produce("a")
    assert_equal "t", stuck.pop[:topic]
    eventually { reports.map { |report| report["topic"] } == ["t"] }
    gate << true
    finished(1)
  end

  test "a run is one call of the handler" do
    klass = Class.new(Work::Consumer)
    assert_equal 300, klass.settings.stuck_after
    handler = Struct.new(:running, :assignment).new
    handler.assignment = Struct.new(:klass, :topic, :partition).new(klass, topic("t"), 0)
    message = Struct.new(:offset)
    log = Work::Events.new
    found = []
    log.on(:stuck) { |event| found << event[:message].offset }
    with_clock do |clock|
      stuck = Work.const_get(:StuckHandlers).new(engine, log) { {} }
      watched = stuck.watch
      # @return [Array<Integer>] offsets that two checks report; between them these seconds pass
      check = lambda do |seconds, offset = nil|
        handler.running = [message.new(offset)] if offset
        stuck.send(:check_all)
        clock.advance(seconds)
        stuck.send(:check_all)
        found.shift(found.size)
      end
      watched.handler = handler
      assert_empty check.call(1_000), "the first run has not yet begun"
      assert_equal [[], [], [2], []],
        [[299, 0], [299, 1], [300, 2], [300]].map { |arguments| check.call(*arguments) }
      klass.stuck_after(nil)
      assert_empty check.call(1_000, 3)
      watched.handler = nil
      assert_empty check.call(1_000)
    end
  end
end
