# frozen_string_literal: true

require "support/running_consumers"

# Handlers that hold others up, and the end of a runner.
class WorkEndingsTest < Godwit::WorkCase
  include RunningConsumers

  # A worker takes many keys at a time when their handlers are fast.
  def each_its_key(count) = Array.new(count) { |index| [index.to_s, index.to_s] }

  test "a slow handler holds its key alone, also when its worker has taken more" do
    declare
    gate = Thread::Queue.new
    seen = Thread::Queue.new
    klass = consumer { |message| (message.value == "700") ? gate.pop : seen << message.value }
    klass.parallel(by: :key)
    client.produce_many("t", each_its_key(1_000))
    run_consumers(klass, workers: 2)
    eventually { seen.size == 999 }
    gate << true
    finished(1_000)
  end

  test "a handler that ends its thread holds no other key" do
    declare
    klass = consumer { |message| Thread.exit if message.value == "700" && message.attempt == 1 }
    klass.parallel(by: :key)
    client.produce_many("t", each_its_key(1_000))
    run_consumers(klass, workers: 1)
    finished(1_000)
  end

  test "an interrupt as it joins, or a second class that cannot join, leaves no member" do
    declare
    stop = Class.new(StandardError)
    interrupt = Module.new do
      define_method(:join) { |*arguments| super(*arguments).tap { Thread.current.raise(stop) } }
    end
    klass = consumer { nil }
    wrong = consumer(:perform, partitions: 3) { nil }
    wrong.group("h")
    assert_raises(Work::TopicError) { Work::Runner.new([klass, wrong], client: client).run }
    assert_empty client.engine.members
    client.engine.singleton_class.prepend(interrupt)
    assert_raises(stop) { Work::Runner.new([klass], client: client).run }
    assert_empty client.engine.members
  end

  test "a handler that hangs is left behind after the time to drain; its record runs again" do
    declare
    declare("out")
    entered, seen = Thread::Queue.new, Thread::Queue.new
    run_consumers(consumer { |message|
      produce("out", "hung")
      entered << message.attempt
      Thread::Queue.new.pop
    }, drain: 0)
    produce("a")
    assert_equal 1, entered.pop
    stop_all
    assert_equal [0, 0], watermarks
    run_consumers(consumer { |message| seen << message.attempt })
    assert_equal 1, seen.pop
    finished(1)
    assert_empty values("out")
  end

  test "quiet takes no new records; stop lets the running one finish" do
    declare
    entered, go = Thread::Queue.new, Thread::Queue.new
    seen = Thread::Queue.new
    runner = run_consumers(consumer { |message|
      entered << message.value
      go.pop
      seen << message.value
    }, workers: 1)
    produce("a", "b")
    assert_equal "a", entered.pop
    runner.quiet
    runner.stop
    go << true
    stop_all
    assert_equal "a", seen.pop
    assert_equal [1], watermarks.select(&:positive?)
    assert_empty entered
  end

  test "quiet: a worker gives back the records that it has taken and not begun" do
    declare
    entered, go = Thread::Queue.new, Thread::Queue.new
    runner = run_consumers(consumer { |message|
      next if message.value == "quick"
      entered << message.value
      go.pop
    }, workers: 1)
    produce(*["quick"] * 100, *["slow"] * 100) # so that the worker takes many at a time
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
    declare
    entered, go = Thread::Queue.new, Hash.new { |all, value| all[value] = Thread::Queue.new }
    %w[a b].each { |value| go[value] }
    klass = consumer { |message|
      entered << message.value
      go[message.value].pop
    }
    klass.parallel by: :key
    %w[a b].each { |value| produce(value, key: value) }
    runner = run_consumers(klass, workers: 2)
    assert_equal %w[a b], Array.new(2) { entered.pop }.sort
    runner.stop
    go["b"] << true
    eventually do
      client.engine.positions("g", client.engine.topics["t"])
        .sum { |one| Work.const_get(:Progress).new(one.watermark, one.state).count } == 1
    end
    go["a"] << true
    stop_all
    assert_equal 2, watermarks.sum
  end

  test "stop ends a handler that hangs in its transaction" do
    not_on :kafka, "transaction is SQL on the SQLite file of the log"
    declare
    stuck = Thread::Queue.new
    failed = events(:failed)
    klass = consumer { |message|
      transaction { sleep if message.value == "hang" }
    }
    klass.stuck_after(0.01)
    client.on(:stuck) { |event| stuck << event[:message].value }
    produce("good", "hang")
    run_consumers(klass, drain: 0.05)
    assert_equal "hang", stuck.pop # the coordinator waits for its commit by then
    stop_all
    assert_equal 1, watermarks.sum
    assert_empty failed
    assert_empty client.engine.members
  end

  test "stop starts no thread: Ruby's exit would wait until that has ended" do
    declare
    runner = run_consumers(consumer { |_| nil })
    produce("a")
    finished(1)
    before = Thread.list
    runner.stop
    assert_empty Thread.list - before
  end
end
