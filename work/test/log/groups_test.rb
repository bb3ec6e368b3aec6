# frozen_string_literal: true

require_relative "engines"

# Members of consumer groups: they share, claim, commit and lose partitions.
class WorkGroupsTest < Godwit::WorkCase
  include Engines

  def join(group = "g", topic: self.topic, start: 0)
    engine.join(group, topic, place, [start] * topic.partitions)
  end

  # Claims and releases partitions until the members' shares in each group differ by at most one.
  # @return [Array<Integer>] how many partitions each member has
  def settle(members)
    counts = nil
    eventually do
      counts = members.to_h { |member| [member.id, follow(member).size] }
      members.group_by { |one| [one.group, one.topic.name] }.all? do |(_, topic), own|
        shares = counts.values_at(*own.map(&:id))
        shares.sum == engine.topics[topic].partitions && shares.minmax.reduce(:-) >= -1
      end
    end
    counts.values
  end

  # Claims the partitions of the member's share, and releases its surplus.
  # @return [Array<Integer>] numbers of the partitions that the member has
  def follow(member)
    held = (@held ||= Hash.new { |all, id| all[id] = {} })[member.id]
    share = engine.rebalance(member) or return held.keys # nil: no change since the last call
    share.claims.each { |one| held[one.partition] = one }
    share.surplus.each { |number| engine.release([held.delete(number)]) }
    held.keys
  end

  def owned(member)
    engine.positions(member.group, member.topic).select { |one| one.member == member.id }
  end

  # @param calls [Array<Proc>] each uses a partition that the member no longer owns
  def assert_lost(*calls)
    assert_refused(Godwit::Work::LostError,
      calls.to_h { |call| [call, /no longer of this member/] })
  end

  test "members share the partitions, and only those move that must" do
    topic(partitions: 8)
    members = [join]
    assert_equal [8], settle(members)
    before = owned(members[0]).map(&:partition)
    members << join
    assert_equal [4, 4], settle(members)
    assert_empty owned(members[0]).map(&:partition) - before
    members << join
    assert_equal [2, 3, 3], settle(members).sort
    engine.leave(members.shift.id)
    assert_equal [4, 4], settle(members).sort
    assert_equal 8, members.flat_map { |one| owned(one).map(&:partition) }.uniq.size
  end

  test "a rebalance sees what another process has written, and notes each hour that it lives" do
    not_on :kafka, "the brokers keep the offsets of a group: offsets.retention.minutes"
    time = 1_000
    @engine = own(sqlite(clock: -> { time }))
    member = join
    engine.rebalance(member)
    assert_nil engine.rebalance(member)
    other = own(sqlite)
    joined = other.join("g", topic, "/place", [0] * 4)
    assert_equal [2, 3], engine.rebalance(member).surplus
    other.leave(joined.id)
    assert_empty engine.rebalance(member).surplus
    assert_nil engine.rebalance(member)
    time += 3_600_000
    assert_equal [0, 1, 2, 3], engine.rebalance(member).kept.keys
  end

  test "a look for dead processes opens each FIFO once, and none of its own process" do
    not_on :kafka, "members have no FIFO: the brokers know which of them live"
    @engine = own(sqlite)
    topic(partitions: 3)
    first, second = Array.new(2) { own(engine.listen) }
    other = own(own(sqlite).listen)
    join_at = ->(place) { engine.join("g", topic(partitions: 3), place, [0] * 3) }
    gone = join_at.call(first.path)
    File.delete(first.path)
    2.times { join_at.call(other.path) }
    members = Array.new(2) { join_at.call(second.path) }
    looks = []
    wake_up = Godwit::Work.const_get(:WakeUp)
    wake_up.stub(:alive?, ->(place) { looks << place }) do
      members.each { |member| engine.rebalance(member) }
    end
    assert_equal [other.path], looks
    assert_includes engine.members.map(&:id), gone.id
  end

  test "groups and topics are independent" do
    topic(partitions: 3)
    other = topic("other", partitions: 2)
    assert_equal [3, 3, 2], settle([join, join("h"), join(topic: other, start: 7)])
    assert_equal [7, 7], engine.positions("g", other).map(&:watermark)
    assert_equal [%w[g numbers], %w[g other], %w[h numbers]], engine.positions.map(&:reader).uniq
    assert_empty engine.positions("nobody", other)
  end

  test "a commit whose outputs cannot be written moves no position" do
    not_on :kafka, "librdkafka aborts the transaction: kafka/failures/transactions_test.rb"
    numbers = topic(partitions: 1)
    claim = claims(join, 1)[0]
    claim.watermark = 5
    assert_raises(IndexError) { engine.commit([claim]) { [[numbers, 9, block("out"), 1]] } }
    assert_equal 0, engine.positions("g", numbers)[0].watermark
  end

  test "a commit of an older generation fails, with its outputs" do
    not_on :kafka, "a group gives a partition that was released to another member"
    numbers = topic(partitions: 2)
    old = join
    first, second = engine.rebalance(old).claims
    engine.release([first])
    newer = engine.rebalance(old).claims.first
    assert_operator newer.generation, :>, first.generation
    first.watermark = 9
    assert_lost(-> { engine.commit([second, first]) { [[numbers, 0, block("out"), 1]] } },
      -> { engine.note(first, 3) })
    engine.release([first])
    assert_equal newer.member, engine.positions("g", numbers)[0].member
    assert_equal [0, 0], engine.positions("g", numbers).map(&:watermark)
    assert_empty client.each("numbers").to_a
    newer.watermark = 4
    engine.commit([newer])
    assert_equal [4, 0], engine.positions("g", numbers).map(&:watermark)
  end

  test "the end of a process that had no record to handle does not count" do
    not_on :kafka, "the session's time-out evicts, and no member"
    numbers = topic(partitions: 2)
    [0, 0, 1].each do |count|
      engine.append([0, 1].map { |at| [numbers, at, block("1"), 1] }) if count == 1
      dead = join
      engine.rebalance(dead)
      engine.rebalance(join, [dead.id])
      engine.members.each { |one| engine.leave(one.id) }
      assert_equal [count] * 2, engine.positions("g", numbers).map(&:crashes)
    end
  end
end
