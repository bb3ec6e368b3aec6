# frozen_string_literal: true

require "support/kafka_failures"

# A consumer process, or its producer, ends in the middle of a transaction with outputs.
class WorkKafkaTransactionsTest < Godwit::KafkaFailureCase
  KAFKA = {"transaction.timeout.ms" => 2_500}.freeze
  STEPS = ["begin", "produce", "offsets", "before commit", "commit"].freeze

  def steps(name = :step) = events(name).map { |one| one.values.values_at(:at, :what) }

  test "a process is killed at each step of a transaction" do
    consume
    produce
    STEPS.each do |at|
      killed = consume(kafka: KAFKA, hook: HOOKS, steps: [[at, "kill"]])
      assert_equal 9, killed.finish.status.termsig, killed.finish.to_s
      @consumers.delete(killed)
      look
      handled(50)
    end
    assert_equal STEPS, steps.map(&:first)
    balance
    stop_consuming
  end

  test "outputs whose transaction fails are sent again, and their records do not run again" do
    wanted = %w[late fatal].flat_map { |what| STEPS[1..3].map { |at| [at, what] } }
    consume(kafka: KAFKA, hook: HOOKS, steps: wanted)
    produce
    eventually(deadline: 200) { steps.size == wanted.size }
    handled(50)
    assert_equal [wanted, wanted], [steps, steps(:acted)]
    places = runs.map(&:place)
    assert_empty places.tally.select { |_, count| count > 1 }
    assert_empty events(:lost)
    balance
    stop_consuming
  end

  test "a process that its group puts out in the middle of a transaction writes nothing" do
    stopped = consume(kafka: {"transaction.timeout.ms" => 60_000}, hook: HOOKS,
      steps: [%w[produce stop]])
    produce
    eventually(deadline: 90) { steps.any? }
    consume_by(1)
    handled(100)
    look
    stopped.signal(:CONT)
    eventually(deadline: 90) { steps(:acted).any? }
    balance
    stop_consuming
  end
end
