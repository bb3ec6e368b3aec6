# frozen_string_literal: true

require_relative "../log/engines"
require "godwit/work/testing"

# The hooks of a consumer class: assigned, revoked, lost, idle and stopping.
class WorkHooksTest < Godwit::WorkCase
  include Engines::Tools

  def engine = @engine ||= own(shared)
  def produce(value) = client.produce("t", value, key: "k")
  def positions = engine.positions("g", engine.topics["t"])

  # @return [Thread::Queue] of the hooks' calls and the handled values
  def log = @log ||= Thread::Queue.new

  # @param hooks [Hash{Symbol => Proc, nil}] what a hook does after its note in the log
  # @return [Class] a consumer of the topic "t" with these hooks
  def consumer(**hooks, &handler)
    log = self.log
    Class.new(Godwit::Work::Consumer) do
      topic "t", partitions: 2, format: :text
      group "g"
      define_method(:perform) do |message|
        instance_exec(message, &handler) if handler
        log << message.value
      end
      hooks.each do |name, body|
        define_method(name) do |*arguments|
          log << [name, *arguments]
          instance_exec(*arguments, &body) if body
        end
      end
    end
  end

  def run_consumer(klass, **options)
    client.topic("t", partitions: 2, format: :text)
    start_runner(klass, **options)
  end

  def all(count) = Array.new(count) { log.pop }

  test "assigned, idle, stopping and revoked" do
    run_consumer(consumer(assigned: nil, revoked: nil, lost: nil, idle: nil, stopping: nil))
    assert_equal [[:assigned, [0, 1]], [:idle]], all(2)
    2.times do
      produce("a")
      assert_equal ["a", [:idle]], all(2)
    end
    stop
    assert_equal [[:stopping], [:revoked, [0, 1]]], all(2)
    assert_empty log
  end

  test "the hooks have one instance and thread, which are not those of the records" do
    seen = Thread::Queue.new
    note = ->(*) { seen << [self, Thread.current] }
    run_consumer(consumer(assigned: note, idle: note, stopping: note, &note))
    produce("a")
    eventually { positions.sum(&:watermark) == 1 }
    stop
    places = Array.new(seen.size) { seen.pop }
    assert_equal 2, places.map { |place| place[0].object_id }.uniq.size
    assert_equal 2, places.map(&:last).uniq.size
  end

  test "no record runs before assigned has ended" do
    go = Thread::Queue.new
    one = log
    run_consumer(consumer(assigned: ->(_) { go.pop.then { one << "ends" } }))
    assert_equal [:assigned, [0, 1]], log.pop
    produce("a")
    eventually { positions.count(&:member) == 2 }
    go << true
    assert_equal %w[ends a], all(2)
  end

  test "revoked runs after the commit, and before another member gets the partition" do
    go, at = Thread::Queue.new, Thread::Queue.new
    test = self
    klass = consumer(assigned: nil, revoked: ->(partitions) {
      at << test.positions.map(&:watermark)
      go.pop if partitions.size == 1
    })
    run_consumer(klass)
    log.pop
    3.times { |index| produce(index.to_s) }
    assert_equal %w[0 1 2], all(3)
    run_consumer(klass)
    name, moved = log.pop
    assert_equal [:revoked, 1], [name, moved.size]
    assert_equal 3, at.pop.sum
    assert_equal 1, positions.map(&:member).uniq.size
    3.times { go << true }
    assert_equal [:assigned, moved], log.pop
    assert_equal 2, positions.map(&:member).uniq.size
    produce("later")
    assert_equal "later", log.pop
  end

  test "lost, when an operator seeks" do
    run_consumer(consumer(assigned: nil, lost: nil, revoked: nil))
    assert_equal [:assigned, [0, 1]], log.pop
    client.seek("g", "t", to: :earliest)
    assert_equal [[:lost, [0, 1]], [:assigned, [0, 1]]], all(2)
  end

  test "commits do not wait for a hook; a hook that hangs ends with the runner" do
    run_consumer(consumer(idle: -> { sleep }, revoked: nil), drain: 0.05)
    assert_equal [:idle], log.pop
    produce("a")
    eventually { positions.sum(&:watermark) == 1 }
    stop
    assert_equal ["a"], all(1)
    assert_empty log
  end

  test "idle is called again for the records that came while it ran" do
    go = Thread::Queue.new
    run_consumer(consumer(idle: -> { go.pop }))
    assert_equal [:idle], log.pop
    produce("a")
    assert_equal "a", log.pop
    go << true << true
    assert_equal [:idle], log.pop
  end

  test "a hook that raises, throws, exits or ends its thread changes nothing" do
    not_on :kafka, "there is no evict: the session's time-out gives a member's partitions to others"
    errors = Thread::Queue.new
    client.on(:error) { |event| errors << event[:error] }
    run_consumer(consumer(
      assigned: ->(_) { raise "no" }, lost: ->(_) { throw :x }, idle: -> { exit },
      stopping: -> { Thread.exit }, revoked: ->(_) { produce("t", "x") }
    ))
    assert_equal [[:assigned, [0, 1]], [:idle]], all(2)
    produce("a")
    assert_equal ["a", [:idle]], all(2)
    client.evict(engine.members.map(&:id).first)
    assert_equal [[:lost, [0, 1]], [:assigned, [0, 1]]], all(2)
    produce("b")
    found = [log.pop] until found == ["b"]
    stop
    found = [log.pop] until found == [[:revoked, [0, 1]]]
    messages = Array.new(errors.size) { errors.pop.message }
    ["no", "uncaught throw :x", "exit"].each { |message| assert_includes messages, message }
    assert_match(/no record is handled here: in a hook call Godwit::Work.produce/, messages.last)
  end

  test "a hook that ends its thread after the last call does not keep the next from running" do
    go = Thread::Queue.new
    klass = consumer(stopping: -> { go.pop && Thread.exit }, revoked: nil)
    hooks = Godwit::Work.const_get(:Hooks).new(klass, client.events)
    hooks.call(:stopping)
    hooks.call(:revoked, [0])
    hooks.instance_variable_get(:@calls).close
    go << true
    hooks.finish(nil)
    assert_equal [[:stopping], [:revoked, [0]]], all(log.size)
  end

  test "a child that a hook forks does not go on as a consumer" do
    children = Thread::Queue.new
    run_consumer(consumer(assigned: ->(_) { (pid = fork) && children << pid }))
    produce("a")
    _, status = Process.wait2(children.pop)
    assert_equal 0, status.exitstatus
    assert_equal [[:assigned, [0, 1]], "a"], all(2)
  end

  test "a constructor that raises is reported" do
    errors = Thread::Queue.new
    client.on(:error) { |event| errors << event[:error].message }
    klass = consumer(assigned: nil)
    made = 0
    klass.define_method(:initialize) { raise "no" if (made += 1) == 1 }
    run_consumer(klass)
    produce("a")
    assert_equal ["no", "a"], [errors.pop, log.pop]
    assert_empty log
  end

  test "Testing calls the hooks" do
    work = Godwit::Work::Testing.new(
      consumer(assigned: nil, revoked: nil, lost: nil, idle: nil, stopping: nil)
    )
    calls = -> { all(log.size) }
    assert_equal [[:assigned, [0, 1]]], calls.call
    work.produce("t", "a", key: "k")
    work.drain
    assert_equal ["a", [:idle]], calls.call
    work.drain
    assert_empty calls.call
    work.rebalance!
    assert_equal [[:revoked, [0, 1]], [:assigned, [0, 1]]], calls.call
    work.restart!
    assert_equal [[:stopping], [:revoked, [0, 1]], [:assigned, [0, 1]]], calls.call
    work.crash!
    assert_equal [[:assigned, [0, 1]]], calls.call
    work.client.seek("g", "t", to: :earliest)
    work.drain
    assert_equal [[:lost, [0, 1]], [:assigned, [0, 1]], "a", [:idle]], calls.call
  end
end
