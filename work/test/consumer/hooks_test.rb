# frozen_string_literal: true

require "support/running_consumers"

# The hooks of a consumer class: assigned, revoked, lost, idle and stopping.
class WorkHooksTest < Godwit::WorkCase
  include RunningConsumers

  # @param names [Array<Symbol>] hooks that only note their calls in {#seen}
  # @param hooks [Hash{Symbol => Proc}] hooks that note their calls in {#seen}, and then run a Proc
  # @return [Class] a consumer of the topic "t" with these hooks; its handler notes the values
  def hooked(*names, **hooks, &handler)
    seen = self.seen
    noted = {**names.to_h { |name| [name, nil] }, **hooks}.to_h do |name, body|
      noting = lambda do |consumer, arguments|
        seen << [name, *arguments]
        consumer.instance_exec(*arguments, &body) if body
      end
      [name, proc { |*arguments| noting.call(self, arguments) }]
    end
    consumer(**noted) do |message|
      instance_exec(message, &handler) if handler
      seen << message.value
    end
  end

  def run_hooked(klass, **options)
    declare
    run_consumers(klass, **options)
  end

  test "assigned, idle, stopping and revoked" do
    run_hooked(hooked(:assigned, :revoked, :lost, :idle, :stopping))
    assert_equal [[:assigned, [0, 1]], [:idle]], next_seen(2)
    2.times do
      produce("a")
      assert_equal ["a", [:idle]], next_seen(2)
    end
    stop_all
    assert_equal [[:stopping], [:revoked, [0, 1]]], next_seen(2)
    assert_empty seen
  end

  test "the hooks have one instance and thread, which are not those of the records" do
    found = Thread::Queue.new
    note = ->(*) { found << [self, Thread.current] }
    run_hooked(hooked(assigned: note, idle: note, stopping: note, &note))
    produce("a")
    finished(1)
    stop_all
    instances, threads = Array.new(found.size) { found.pop }.transpose
    assert_equal [2, 2], [instances.map(&:object_id), threads].map { |all| all.uniq.size }
  end

  test "no record runs before assigned has ended" do
    go = Thread::Queue.new
    seen = self.seen
    run_hooked(hooked(assigned: ->(_) { go.pop.then { seen << "ends" } }))
    assert_equal [:assigned, [0, 1]], seen.pop
    produce("a")
    eventually { positions.count(&:member) == 2 }
    go << true
    assert_equal %w[ends a], next_seen(2)
  end

  test "revoked runs after the commit, and before another member gets the partition" do
    go, at = Thread::Queue.new, Thread::Queue.new
    test = self
    klass = hooked(:assigned, revoked: ->(partitions) {
      at << test.watermarks
      go.pop if partitions.size == 1
    })
    run_hooked(klass)
    seen.pop
    produce(*"0".."2")
    assert_equal [*"0".."2"], next_seen(3)
    run_hooked(klass)
    name, moved = seen.pop
    assert_equal [:revoked, 1], [name, moved.size]
    assert_equal 3, at.pop.sum
    assert_equal 1, positions.map(&:member).uniq.size
    3.times { go << true }
    assert_equal [:assigned, moved], seen.pop
    assert_equal 2, positions.map(&:member).uniq.size
    produce("later")
    assert_equal "later", seen.pop
  end

  test "commits do not wait for a hook; a hook that hangs ends with the runner" do
    run_hooked(hooked(:revoked, idle: -> { sleep }), drain: 0.05)
    assert_equal [:idle], seen.pop
    produce("a")
    finished(1)
    stop_all
    assert_equal "a", seen.pop
    assert_empty seen
  end

  test "idle is called again for the records that came while it ran" do
    go = Thread::Queue.new
    run_hooked(hooked(idle: -> { go.pop }))
    assert_equal [:idle], seen.pop
    produce("a")
    assert_equal "a", seen.pop
    go << true << true
    assert_equal [:idle], seen.pop
  end

  test "a hook that raises, throws, exits or ends its thread changes nothing" do
    not_on :kafka, "there is no evict: the session's time-out gives a member's partitions to others"
    errors = events(:error)
    run_hooked(hooked(
      assigned: ->(_) { raise "no" }, lost: ->(_) { throw :x }, idle: -> { exit },
      stopping: -> { Thread.exit }, revoked: ->(_) { produce("t", "x") }
    ))
    assert_equal [[:assigned, [0, 1]], [:idle]], next_seen(2)
    produce("a")
    assert_equal ["a", [:idle]], next_seen(2)
    client.evict(engine.members.map(&:id).first)
    assert_equal [[:lost, [0, 1]], [:assigned, [0, 1]]], next_seen(2)
    produce("b")
    found = [seen.pop] until found == ["b"]
    stop_all
    found = [seen.pop] until found == [[:revoked, [0, 1]]]
    messages = errors.map { |event| event[:error].message }
    ["no", "uncaught throw :x", "exit"].each { |message| assert_includes messages, message }
    assert_match(/no record is handled here: in a hook call Godwit::Work.produce/, messages.last)
  end

  test "a hook that ends its thread after the last call does not keep the next from running" do
    go = Thread::Queue.new
    klass = hooked(:revoked, stopping: -> { go.pop && Thread.exit })
    hooks = Work.const_get(:Hooks).new(klass, client.events)
    hooks.call(:stopping)
    hooks.call(:revoked, [0])
    hooks.instance_variable_get(:@calls).close
    go << true
    hooks.finish(nil)
    assert_equal [[:stopping], [:revoked, [0]]], next_seen(seen.size)
  end

  test "a child that a hook forks does not go on as a consumer" do
    children = Thread::Queue.new
    run_hooked(hooked(assigned: ->(_) { (pid = fork) && children << pid }))
    produce("a")
    _, status = Process.wait2(children.pop)
    assert_equal 0, status.exitstatus
    assert_equal [[:assigned, [0, 1]], "a"], next_seen(2)
  end

  test "a constructor that raises is reported" do
    errors = events(:error)
    made = 0
    klass = hooked(:assigned)
    klass.define_method(:initialize) { raise "no" if (made += 1) == 1 }
    run_hooked(klass)
    produce("a")
    finished(1)
    assert_equal [%w[no], "a"], [errors.map { |event| event[:error].message }, seen.pop]
    assert_empty seen
  end

  test "Testing calls the hooks" do
    work = Work::Testing.new(hooked(:assigned, :revoked, :lost, :idle, :stopping))
    assigned, revoked, lost = %i[assigned revoked lost].map { |name| [name, [0, 1]] }
    {
      start: [assigned], produce: [], drain: ["a", [:idle]], "drain again": [],
      rebalance!: [revoked, assigned], restart!: [[:stopping], revoked, assigned],
      crash!: [assigned], seek: [], "drain after it": [lost, assigned, "a", [:idle]]
    }.each do |step, calls|
      case step
      when :produce then work.produce("t", "a", key: "k")
      when :seek then work.client.seek("g", "t", to: :earliest)
      when /drain/ then work.drain
      when /!/ then work.public_send(step)
      end
      assert_equal calls, next_seen(seen.size), step
    end
  end
end
