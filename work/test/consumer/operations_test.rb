# frozen_string_literal: true

require "support/running_consumers"

# What an operator does: lag, seek, pause, resume, evict, requeue and grow.
class WorkOperationsTest < Godwit::WorkCase
  include RunningConsumers

  def handled = eventually { client.groups.first&.lag&.zero? }

  # Runs a consumer that adds the values of its records to the returned queue.
  # @return [Thread::Queue]
  def consume(group = "g", values: Thread::Queue.new, &block)
    declare
    run_consumers(consumer(partitions: nil, group: group, retries: 0) { |message|
      values << message.value
      instance_exec(message, &block) if block
    })
    eventually { client.groups.any? { |one| one.group == group && one.members == 1 } }
    values
  end

  test "seek: the records run again, once, also in a process that has them" do
    values = consume
    produce("a", "b")
    2.times { values.pop }
    own = client.each("t").first.partition
    [[{to: :earliest}, %w[a b]], [{to: -1, partition: own}, %w[b]],
      [{to: :earliest, partition: own.zero? ? 1 : 0}, []]].each do |where, again|
      handled
      client.seek("g", "t", **where)
      assert_equal again, Array.new(again.size) { values.pop }, where
    end
    handled
    stop_all
    consume(values: values)
    produce("c")
    assert_equal "c", values.pop
    handled
    stop_all
    produce("d")
    assert_equal [[0, 1]], client.groups.map { |one| [one.members, one.lag] }
    client.seek("g", "t", to: :latest)
    consume(values: values)
    produce("e")
    assert_equal "e", values.pop
    handled
    client.seek("g", "t", to: 100)
    assert_equal [0], client.groups.map(&:lag)
    produce("behind the end")
    assert_equal "behind the end", values.pop
  end

  test "seeks of different partitions all hold, also when no member has followed the first yet" do
    values = consume
    client.produce_many("t", [*"a".."h"].map { |value| [value, value] })
    8.times { values.pop }
    handled
    last = client.each("t").group_by(&:partition).transform_values { |all| all.last.value }
    last.each_key { |partition| client.seek("g", "t", to: -1, partition: partition) }
    assert_equal last.values.sort, Array.new(2) { values.pop }.sort
  end

  test "a pause lasts until resume, also through a restart" do
    consume
    client.pause("g", "t")
    eventually { client.groups.first.paused }
    stop_all
    produce("a")
    values = consume
    assert_equal "a", consume("h").pop
    assert_empty values
    assert_equal [true, false], client.groups.map(&:paused)
    client.resume("g", "t")
    assert_equal "a", values.pop
    assert_equal [false, false], client.groups.map(&:paused)
  end

  test "what an engine lacks is an error, which says so" do
    committer = Work.const_get(:Committer).new(engine, client.events)
    engine.stub(:lacks, %i[evict transaction]) do
      assert_refused(Godwit::UnsupportedError,
        -> { client.evict(1) } => /evict: not on this log/,
        -> { committer.transaction(nil, [], nil) } => /transaction: .*connect to a sqlite: URL/)
    end
  end

  test "requeue returns a dead letter to the group that failed, alone" do
    failing = true
    values = consume { |_| raise "no" if failing }
    other = consume("h")
    produce("a")
    assert_equal %w[a a], [values.pop, other.pop]
    found = nil
    eventually { engine.topics["t.dead"] && (found = dead.first) }
    failing = false
    assert_equal 1, client.requeue("t.dead", found.partition, found.offset).offset
    assert_equal "a", values.pop
    eventually { client.groups.all? { |one| one.lag.zero? } }
    assert_empty other
    assert_equal [["godwit-for-group", "g"]], client.each("t", from: -1).first.headers
  end

  test "requeue: an output with the headers of the record is handled by its groups" do
    failing = true
    fails = consumer(topic: "in", group: "h", retries: 0) do |message|
      raise "no" if failing
      produce("t", message.value, headers: message.headers)
    end
    work = Work::Testing.new(fails, noting)
    work.produce("in", "a", headers: {"trace" => "1"})
    work.drain
    found = work.client.each("in.dead").first
    failing = false
    work.client.requeue("in.dead", found.partition, found.offset)
    work.drain
    assert_equal "a", seen.pop
    assert_equal [["trace", "1"]], work.client.each("t").first.headers
  end

  test "a topic grows while consumers run; each record is handled once" do
    values = consume
    produce("a")
    assert_equal "a", values.pop
    assert_equal 5, client.grow("t", 5).partitions
    keys = Array.new(50, &:to_s)
    receipts = client.produce_many("t", keys.map { |key| [key, key] })
    assert_equal [0, 1, 2, 3, 4], receipts.map(&:partition).uniq.sort
    assert_equal keys.sort, Array.new(50) { values.pop }.sort
    handled
    assert_empty values
    [5, 4].each do |partitions|
      assert_match(/has 5 partitions, and cannot have #{partitions}: name a larger number/,
        assert_raises(Work::TopicError) { client.grow("t", partitions) }.message)
    end
  end

  # cli_test.rb tests wrong groups and topics.
  test "wrong offsets and numbers of partitions" do
    declare
    assert_refused(Godwit::ArgumentValueError,
      **[["0", 1], [0, "1"], [0, nil], [-1, 0], [0, -1]].to_h { |place|
        [-> { client.requeue("t", *place) }, /takes an Integer, 0 or more: got/]
      },
      -> { client.seek("g", "t", to: "yesterday") } => /takes an offset, a Time/,
      -> { client.grow("t", "x") } => /partitions: takes/)
  end
end
