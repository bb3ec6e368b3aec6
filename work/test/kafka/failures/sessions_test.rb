# frozen_string_literal: true

require "support/kafka_failures"

# A consumer does not run for longer than its session.
class WorkKafkaSessionsTest < Godwit::KafkaFailureCase
  def owners
    positions = client.engine.positions(group, client.engine.topics.fetch(from))
    marks = client.engine.members.to_h { |one| [one.id, one.pid] }
    positions.map { |one| marks[one.member] }
  end

  # @return [Boolean] whether all these have partitions, and no partition is without one
  def shared_by?(*children) = owners.uniq.sort_by(&:to_i) == children.map(&:pid).sort

  test "a consumer is stopped beyond its session: what it does later has no effect" do
    stopped, other = consume_by(2)
    produce
    handled(200)
    eventually(deadline: 90) { shared_by?(stopped, other) }
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
end
