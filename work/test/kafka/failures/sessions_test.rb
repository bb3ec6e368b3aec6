# frozen_string_literal: true

require "support/kafka_failures"

# A consumer process is stopped for longer than its session time-out, or restarts sooner.
class WorkKafkaSessionsTest < Godwit::KafkaFailureCase
  def owners
    positions = client.engine.positions(group, client.engine.topics.fetch(from))
    marks = client.engine.members.to_h { |one| [one.id, one.pid] }
    positions.map { |one| marks[one.member] }
  end

  # @return [Boolean] whether each of these children has partitions, and no other process has any
  def shared_by?(*children) = owners.uniq.sort_by(&:to_i) == children.map(&:pid).sort

  test "a consumer is stopped beyond its session: what it does later has no effect" do
    stopped, other = consume_by(2)
    produce
    handled(200)
    eventually(deadline: 90) { shared_by?(stopped, other) }
    # The event `lost` names only partitions that the Runner knows: wait for a run of its handler.
    eventually(deadline: 90) { runs.any? { |run| run.pid == stopped.pid } }
    look
    stopped.signal(:STOP)
    eventually(deadline: 90) { shared_by?(other) }
    handled(100)
    look
    stopped.signal(:CONT)
    eventually(deadline: 90) { events(:lost).map(&:pid).include?(stopped.pid) }
    eventually(deadline: 90) { shared_by?(stopped, other) }
    seen = runs.count { |run| run.pid == stopped.pid }
    eventually(deadline: 90) { runs.count { |run| run.pid == stopped.pid } > seen }
    assert_equal [stopped.pid], events(:lost_hook).map(&:pid).uniq
    balance
    stop_consuming
  end

  # @return [Array<Array(Symbol, String)>] the calls of a consumer's hooks: name and partitions
  def moves(child)
    events(:assigned, :revoked, :lost_hook).select { |one| one.pid == child.pid }
      .map { |one| [one.name, one.values[:numbers]] }
  end

  # @return [Array<String, nil>] the id of each partition's member
  def holders
    client.engine.positions(group, client.engine.topics.fetch(from)).map(&:member)
  end

  test "a static member starts again, and no partition moves" do
    first, other = %w[a b].map { |name| consume(instance: name).wait_for(/^ready$/) }
    produce
    eventually(deadline: 90) { moves(other).any? && holders.tally.values == [2, 2] }
    handled(100)
    held, before = holders, moves(other)
    assert_child first.signal(:TERM).finish
    @consumers.delete(first)
    again = consume(instance: "a").wait_for(/^ready$/)
    eventually(deadline: 90) { moves(again).any? }
    handled(100)
    assert_equal [[:assigned, 2]], moves(again).map { |name, text| [name, text.scan(/\d/).size] }
    assert_equal [held, before], [holders, moves(other)]
    balance
    stop_consuming
  end

  test "of two processes with one instance the older one ends, with an error that says so" do
    older = consume(instance: "a").wait_for(/^ready$/)
    produce
    handled(100)
    newer = consume(instance: "a").wait_for(/^ready$/)
    result = older.finish
    refute_predicate result, :success?
    assert_match(/with the same instance: give each process an instance: of its own/, result.stderr)
    refute_match(/LostError/, result.stderr)
    @consumers.delete(older)
    eventually(deadline: 90) { runs.any? { |run| run.pid == newer.pid } }
    balance
    stop_consuming
  end
end
