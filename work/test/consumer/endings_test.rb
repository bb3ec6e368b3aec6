# frozen_string_literal: true

require "support/running_consumers"

# Slow handlers, which must not delay other keys, and the end of a runner.
class WorkEndingsTest < Godwit::WorkCase
  include RunningConsumers

  def setup
    super
    declare
    @entered, @go = Thread::Queue.new, Thread::Queue.new
  end

  # Runs a consumer that is parallel by key on records of a thousand keys; the block is the handler.
  # While handlers are fast, a worker gets records of many keys at a time.
  def run_a_thousand(workers, &block)
    client.produce_many("t", Array.new(1_000) { |index| [index.to_s, index.to_s] })
    run_consumers(consumer(by: :key, &block), workers: workers)
  end

  test "a slow handler holds its key alone, also when its worker has taken more" do
    seen, go = self.seen, @go
    run_a_thousand(2) { |message| (message.value == "700") ? go.pop : seen << message.value }
    eventually { seen.size == 999 }
    go << true
    finished(1_000)
  end

  test "a handler that ends its thread holds no other key" do
    run_a_thousand(1) { |message| Thread.exit if message.value == "700" && message.attempt == 1 }
    finished(1_000)
  end

  test "an interrupt as it joins, or a second class that cannot join, leaves no member" do
    stop = Class.new(StandardError)
    interrupt = Module.new do
      define_method(:join) { |*arguments| super(*arguments).tap { Thread.current.raise(stop) } }
    end
    classes = [consumer { nil }, consumer(partitions: 3, group: "h") { nil }]
    assert_raises(Work::TopicError) { Work::Runner.new(classes, client: client).run }
    assert_empty engine.members
    engine.singleton_class.prepend(interrupt)
    assert_raises(stop) { Work::Runner.new(classes.first(1), client: client).run }
    assert_empty engine.members
  end

  test "a handler that hangs is left behind after the time to drain; its record runs again" do
    declare("out")
    entered = @entered
    run_consumers(consumer { |message|
      produce("out", "hung")
      entered << message.attempt
      Thread::Queue.new.pop
    }, drain: 0)
    produce("a")
    assert_equal 1, entered.pop
    stop_all
    assert_equal [0, 0], watermarks
    run_consumers(consumer { |message| entered << message.attempt })
    assert_equal 1, entered.pop
    finished(1)
    assert_empty values("out")
  end

  test "quiet: the running record finishes; a worker gives back those that it has not begun" do
    entered, go = @entered, @go
    runner = run_consumers(consumer { |message|
      next if message.value == "quick"
      entered << message.value
      go.pop
    }, workers: 1)
    produce(*["quick"] * 100, *["slow"] * 100) # quick ones first: then a worker gets many at once
    assert_equal "slow", entered.pop
    runner.quiet
    eventually { runner.instance_variable_get(:@coordinator).assignments.all?(&:halted?) }
    100.times { go << true }
    finished(101)
    stop_all
    assert_empty entered
    assert_equal 101, watermarks.sum
  end

  test "what ends after stop is committed while other handlers still run" do
    entered = @entered
    go = %w[a b].to_h { |value| [value, Thread::Queue.new] }
    klass = consumer(by: :key) do |message|
      entered << message.value
      go[message.value].pop
    end
    go.each_key { |value| produce(value, key: value) }
    runner = run_consumers(klass, workers: 2)
    assert_equal %w[a b], Array.new(2) { entered.pop }.sort
    runner.stop
    go["b"] << true
    eventually do
      positions.sum { |one| Work.const_get(:Progress).new(one.watermark, one.state).count } == 1
    end
    go["a"] << true
    stop_all
    assert_equal 2, watermarks.sum
  end

  test "stop ends a handler that hangs in its transaction" do
    not_on :kafka, "transaction is SQL on the SQLite file of the log"
    stuck = Thread::Queue.new
    failed = events(:failed)
    klass = consumer { |message| transaction { sleep if message.value == "hang" } }
    klass.stuck_after(0.01)
    client.on(:stuck) { |event| stuck << event[:message].value }
    produce("good", "hang")
    run_consumers(klass, drain: 0.05)
    assert_equal "hang", stuck.pop # now the coordinator waits for the transaction's end
    stop_all
    assert_equal [1, [], []], [watermarks.sum, failed, engine.members]
  end

  test "stop starts no thread: Ruby's exit would wait until that has ended" do
    runner = run_consumers(consumer { |_| nil })
    produce("a")
    finished(1)
    before = Thread.list
    runner.stop
    assert_empty Thread.list - before
  end
end
