# frozen_string_literal: true

require_relative "../log/engines"
require "json"

# Handlers that run for longer than `stuck_after`.
class WorkStuckTest < Godwit::WorkCase
  include Engines::Tools

  def engine = @engine ||= own(shared)
  def produce(*values) = client.produce_many("t", values.map { |value| [value, "k"] })

  # @return [Thread::Queue] of the events
  def events(*names)
    Thread::Queue.new.tap { |all| client.on(*names) { |event| all << event } }
  end

  def consume(handler = :perform, stuck_after: 0.01, &block)
    client.topic("t", partitions: 2, format: :text)
    klass = Class.new(Godwit::Work::Consumer) do
      topic "t", format: :text
      group "g"
      stuck_after stuck_after
      define_method(handler, &block)
    end
    @runner = Godwit::Work::Runner.new([klass], client: client, workers: 2)
    @thread = in_thread { @runner.run }
  end

  def teardown
    @runner&.stop
    ended(@thread) if @thread
    super
  end

  def reports = engine.members.filter_map(&:report).flat_map { |text| JSON.parse(text) }
  def finished(count) = eventually { client.groups.first&.lag == 0 && count == watermarks.sum }
  def watermarks = engine.positions("g", engine.topics["t"]).map(&:watermark)
  def hang = @hang ||= Thread::Queue.new

  test "a look at a worker whose first run has not yet begun" do
    stuck = Godwit::Work.const_get(:StuckHandlers).new(engine, client.events) { {} }
    stuck.watch.handler = Struct.new(:running).new
    assert_empty stuck.send(:check_all)
  end

  test "an event and a report, once for each run, and with the backtrace" do
    stuck = events(:stuck)
    gate = hang
    consume { |message| gate.pop unless message.value == "fast" }
    produce("a", "fast", "b")
    event = stuck.pop
    assert_equal ["t", "a"], [event[:topic], event[:message].value]
    assert_equal event[:message].partition, event[:partition]
    assert_operator event[:seconds], :>=, 0.01
    # Ruby 3.4's pop is a line of its own.
    assert_match(/stuck_test.rb:\d+:in /, event[:backtrace].first(2).join("\n"))
    eventually { reports.size == 1 }
    report = reports.first
    assert_equal ["t", event[:partition], event[:message].offset, event[:backtrace].first(100)],
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
    stuck = events(:stuck)
    gate = hang
    consume(:consume) do |batch|
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
    klass = Class.new(Godwit::Work::Consumer)
    assert_equal 300, klass.settings.stuck_after
    handler = Struct.new(:running, :assignment).new
    place = Struct.new(:klass, :topic, :partition)
    offset = Struct.new(:offset)
    handler.assignment = place.new(klass, topic("t"), 0)
    one = Godwit::Work::Events.new
    found = Thread::Queue.new
    one.on(:stuck) { |event| found << event[:message].offset }
    with_clock do |clock|
      stuck = Godwit::Work.const_get(:StuckHandlers).new(engine, one) { {} }
      watched = stuck.watch
      watched.handler = handler
      look = lambda do |seconds, message|
        handler.running = [offset.new(message)] if message
        stuck.send(:check_all)
        clock.advance(seconds)
        stuck.send(:check_all)
      end
      2.times { |index| look.call(299, index) }
      assert_empty found
      look.call(300, 2)
      look.call(300, nil)
      assert_equal [2], Array.new(found.size) { found.pop }
      klass.stuck_after(nil)
      look.call(1_000, 3)
      watched.handler = nil
      look.call(1_000, nil)
      assert_empty found
    end
  end

  test "wrong numbers of seconds" do
    klass = Class.new(Godwit::Work::Consumer)
    klass.stuck_after(1.5)
    klass.stuck_after(3/2r)
    assert_equal 1.5, klass.settings.stuck_after
    [0, -1, "x", Complex(1, 1), Float::INFINITY].each do |wrong|
      assert_raises(Godwit::ArgumentValueError) { klass.stuck_after(wrong) }
    end
  end
end
