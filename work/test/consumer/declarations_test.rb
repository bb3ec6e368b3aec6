# frozen_string_literal: true

require_relative "../log/engines"

# What consumer classes declare, and what the runner makes of it at its start.
class WorkDeclarationsTest < Godwit::WorkCase
  include Engines::Tools

  Work = Godwit::Work

  # Dumps and loads Integers, backwards.
  module Backwards
    def self.dump(value) = value.to_s.reverse
    def self.load(bytes) = Integer(bytes.reverse)
  end

  # @return [Class] a consumer of the topic "t" that fails at each record, or has the handler
  def failing(handler = ->(message) { raise "no #{message.value}" }, &declarations)
    Class.new(Work::Consumer) do
      topic "t"
      group "g"
      retries 0
      class_eval(&declarations) if declarations
      define_method(:perform, &handler)
    end
  end

  def runner(*classes, **options) = Work::Runner.new(classes, client: client, **options)
  def refused(error, &block) = assert_raises(error, &block).message

  # Runs the class until the records are dead letters.
  def bury(klass, records)
    runner = runner(klass)
    thread = in_thread { runner.run }
    eventually { client.topics.map(&:name).include?("t.dead") }
    eventually { client.each("t.dead").count == records }
  ensure
    runner.stop
    ended(thread)
  end

  test "dead letters have the format of the topic, here an object" do
    client.topic("t", format: Backwards)
    client.produce("t", 123)
    bury(failing, 1)
    assert_equal ["321", 123], client.each("t.dead").first.then { |one| [one.raw, one.value] }
  end

  test "a value that a format of its own cannot load is a dead letter at once" do
    client.topic("t", format: Backwards)
    failed = []
    client.on(:failed) { |event| failed << event[:attempts] }
    client.produce("t", "x")
    bury(failing { retries 3, backoff: 1_000..1_000 }, 1)
    assert_equal [1], failed
  end

  test "a format that the process does not know is refused at the start" do
    Work::Client.new(engine).topic("t", format: Backwards)
    [failing, failing { dead_letter false }].each do |klass|
      assert_match(/format of its own, .*Backwards: declare it here/,
        refused(Work::TopicError) { runner(klass).run })
    end
    assert_equal ["t"], client.topics.map(&:name)
  end

  test "a runner in memory needs no file, and a produce wakes it" do
    @kind = "memory"
    seen = Thread::Queue.new
    client.topic("t")
    runner = runner(failing(->(message) { seen << message.value }))
    thread = in_thread { runner.run }
    eventually { client.groups.any? }
    client.produce("t", 1)
    assert_equal 1, seen.pop
    eventually { client.groups[0].lag.zero? } # else it runs again after the eviction
    member = client.members.first
    assert_equal [8, nil], [member.partitions, member.pid]
    assert client.evict(member.member)
    eventually { client.members.map(&:member) == [member.member + 1] }
    client.produce("t", 2)
    assert_equal 2, seen.pop
    runner.stop
    ended(thread)
    assert_empty client.members
    refute_path_exists ":memory:.members"
  end

  test "a class whose dead letters go to its own topic" do
    assert_match(/dead_letter names the class's own topic/,
      refused(Godwit::StateError) { runner(failing { dead_letter "t" }) })
  end

  test "a class without a name needs a group" do
    klass = failing { settings.group = nil }
    assert_match(/has no name, and so no group: write group "name"/,
      refused(Godwit::StateError) { runner(klass) })
    assert_equal ["g"], [failing.group_name]
  end

  test "a group is a String" do
    [:billing, nil, "", "\xff", "\xff".b].each do |group|
      assert_match(/name takes a String/,
        refused(Godwit::ArgumentValueError) { failing { group(group) } })
    end
  end

  test "names of any encoding are the same names" do
    client.topic("t".b)
    client.produce("t", 1)
    bury(failing { group "g".b }, 1)
    assert_nil client.pause("g", "t")
    assert_equal [Encoding::UTF_8] * 2,
      [*client.topics.map(&:name).grep("t"), client.groups[0].group].map(&:encoding)
  end

  test "workers and drain" do
    [0, -1, nil, 1.5].each do |workers|
      refused(Godwit::ArgumentValueError) { runner(failing, workers: workers) }
    end
    [-1, "5", Complex(1, 1), Float::INFINITY].each do |drain|
      assert_match(/drain: takes seconds, 0 or more, or nil/,
        refused(Godwit::ArgumentValueError) { runner(failing, drain: drain) })
    end
  end

  test "drain: nil waits for the running handler" do
    entered, go = Thread::Queue.new, Thread::Queue.new
    client.topic("t")
    client.produce("t", 1)
    runner = runner(failing(->(_) { entered << 1 and go.pop }), drain: nil)
    thread = in_thread { runner.run }
    entered.pop
    runner.stop
    go << true
    ended(thread)
    assert_equal 1, engine.positions("g", engine.topics["t"]).sum(&:watermark)
  end
end
