# frozen_string_literal: true

require_relative "../log/engines"
require "timeout"

# Lag, seek, pause, resume, evict and requeue.
class WorkOperationsTest < Godwit::WorkCase
  include Engines::Tools

  def engine = @engine ||= own(shared)
  def produce(*values) = client.produce_many("t", values.map { |value| [value, "k"] })
  def finished = eventually { client.groups.first&.lag&.zero? }

  # @return [Thread::Queue] of the values that a consumer of the topic "t" gets
  def consume(group = "g", retries: 0, &block)
    client.topic("t", partitions: 2, format: :text)
    seen = Thread::Queue.new
    klass = Class.new(Godwit::Work::Consumer) do
      topic "t", format: :text
      group group
      retries retries
      define_method(:perform) do |message|
        seen << message.value
        block&.call(message)
      end
    end
    start_runner(klass)
    eventually { client.groups.any? { |one| one.group == group && one.members == 1 } }
    seen
  end

  test "groups and their lag" do
    assert_empty client.groups
    seen = consume
    produce("a", "b")
    assert_equal %w[a b], Array.new(2) { seen.pop }
    finished
    stop
    produce("c")
    group = client.groups.first
    assert_equal ["g", "t", 0, 1, false],
      [group.group, group.topic, group.members, group.lag, group.paused]
    assert_predicate group, :frozen?
  end

  test "seek: the records run again, also in a process that has them" do
    seen = consume
    produce("a", "b")
    2.times { seen.pop }
    finished
    client.seek("g", "t", to: :earliest)
    assert_equal %w[a b], Array.new(2) { seen.pop }
    finished
    client.seek("g", "t", to: -1)
    assert_equal "b", seen.pop
    finished
    stop
    produce("c")
    client.seek("g", "t", to: :latest)
    seen = consume
    produce("d")
    assert_equal "d", seen.pop
  end

  test "seek behind the end of a partition: its next record runs" do
    seen = consume
    produce("a")
    seen.pop
    finished
    client.seek("g", "t", to: 100)
    assert_equal [0], client.groups.map(&:lag)
    produce("b")
    assert_equal "b", Timeout.timeout(10) { seen.pop }
  end

  test "a pause lasts until resume, also through a restart" do
    consume
    client.pause("g", "t")
    eventually { client.groups.first.paused }
    stop
    produce("a")
    seen = consume
    other = consume("h")
    assert_equal "a", other.pop
    assert_empty seen
    client.resume("g", "t")
    assert_equal "a", seen.pop
    assert_equal [false, false], client.groups.map(&:paused)
  end

  test "what an engine lacks is an error, which says so" do
    engine.stub(:lacks, %i[evict transaction]) do
      assert_match(/evict: not on this log/,
        assert_raises(Godwit::UnsupportedError) { client.evict(1) }.message)
      committer = Godwit::Work.const_get(:Committer).new(engine, client.events)
      error = assert_raises(Godwit::UnsupportedError) { committer.transaction(nil, [], nil) }
      assert_match(/transaction: .*connect to a sqlite: URL/, error.message)
    end
  end

  test "evict removes the FIFO of a process that has died" do
    not_on :kafka, "members have no FIFO"
    topic = client.topic("t", partitions: 2)
    place = File.join("#{path}.members", "123-abc")
    FileUtils.mkdir_p(File.dirname(place))
    File.mkfifo(place)
    member = engine.join("g", topic, place, [0, 0])
    assert client.evict(member.id)
    refute_path_exists place
  end

  test "requeue returns a dead letter to the group that failed, alone" do
    failing = true
    seen = consume { |_| raise "no" if failing }
    other = consume("h")
    produce("a")
    assert_equal %w[a a], [seen.pop, other.pop]
    letter = nil
    eventually { engine.topics["t.dead"] && (letter = client.each("t.dead").first) }
    failing = false
    receipt = client.requeue("t.dead", letter.partition, letter.offset)
    assert_equal 1, receipt.offset
    assert_equal "a", seen.pop
    eventually { client.groups.all? { |one| one.lag.zero? } }
    assert_empty other
    assert_equal [["godwit-for-group", "g"]], client.each("t", from: -1).first.headers
  end

  test "requeue: an output with the headers of the record is handled by its groups" do
    failing = true
    seen = consume
    klass = Class.new(Godwit::Work::Consumer) do
      topic "in", format: :text
      group "h"
      retries 0
      define_method(:perform) do |message|
        raise "no" if failing
        produce("t", message.value, headers: message.headers)
      end
    end
    start_runner(klass)
    eventually { engine.topics["in"] }
    client.produce("in", "a", headers: {"trace" => "1"})
    letter = nil
    eventually { engine.topics["in.dead"] && (letter = client.each("in.dead").first) }
    failing = false
    client.requeue("in.dead", letter.partition, letter.offset)
    assert_equal "a", Timeout.timeout(10) { seen.pop }
    assert_equal [["trace", "1"]], client.each("t").first.headers
  end

  test "a topic grows while consumers run; each record is handled once" do
    seen = consume
    produce("a")
    assert_equal "a", seen.pop
    assert_equal 5, client.grow("t", 5).partitions
    keys = Array.new(50, &:to_s)
    receipts = client.produce_many("t", keys.map { |key| [key, key] })
    assert_equal [0, 1, 2, 3, 4], receipts.map(&:partition).uniq.sort
    assert_equal keys.sort, Array.new(50) { seen.pop }.sort
    finished
    assert_empty seen
    [5, 4].each do |partitions|
      assert_match(/has 5 partitions, and cannot have #{partitions}: name a larger number/,
        assert_raises(Godwit::Work::TopicError) { client.grow("t", partitions) }.message)
    end
    assert_raises(Godwit::ArgumentValueError) { client.grow("t", "x") }
  end

  test "wrong groups, topics and offsets" do
    consume
    produce("a")
    {
      -> { client.seek("x", "t", to: :earliest) } => /group "x" has never read topic "t"/,
      -> { client.pause("g", "y") } => /no topic "y"/,
      -> { client.requeue("t", 0, 0) } => /no dead letter at 0\/0 of topic "t"/,
      -> { client.requeue("t", 7, 0) } => /no dead letter at 7\/0/
    }.each do |call, says|
      assert_match says, assert_raises(Godwit::Work::TopicError, &call).message
    end
    [["0", 1], [0, "1"], [0, nil], [-1, 0], [0, -1]].each do |place|
      error = assert_raises(Godwit::ArgumentValueError) { client.requeue("t", *place) }
      assert_match(/takes an Integer, 0 or more: got/, error.message)
    end
    assert_raises(Godwit::ArgumentValueError) { client.seek("g", "t", to: "yesterday") }
  end
end
