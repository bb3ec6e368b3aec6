# frozen_string_literal: true

require "support/kafka_failures"

# Consumers that are killed.
class WorkKafkaKillsTest < Godwit::KafkaFailureCase
  KILLS = LONG ? 24 : 4
  EVERY = 5 # seconds
  POISON = 150

  test "one of five consumers is killed each few seconds, while partitions are added" do
    random = Random.new(Minitest.seed)
    consume_by(5)
    produce
    KILLS.times do |round|
      handled(100)
      sleep EVERY if LONG
      look
      kill(@consumers.sample(random: random))
      client.grow(from, PARTITIONS + round / 2 + 1) if round.even?
      consume
    end
    handled(100)
    look
    balance
    stop_consuming
  end

  # Its topic has other records, which the process ran at the same time.
  test "a record that ends its process three times is a dead letter" do
    produce
    until (letter = dead_letter)
      one = consume(poison: [POISON])
      refute one.finish.success?, "the record did not end the process" unless dead?(one)
      @consumers.delete(one) if one.finished?
      assert_operator runs.count { |run| run.number == POISON }, :<=, 8
    end
    assert_equal POISON, letter.value[:id]
    assert_operator runs.count { |run| run.number == POISON }, :>=, 3
    consume(poison: [POISON]) if @consumers.empty?
    balance(dead: [POISON])
    stop_consuming
  end

  def dead_letter
    client.each("#{from}.dead").find { |one| one.value[:id] == POISON }
  rescue Godwit::Work::TopicError
    nil # no consumer has begun
  end

  # @return [Boolean] whether the record is a dead letter before the process ends
  def dead?(child)
    eventually(deadline: 90) { dead_letter || !alive?(child.pid) }
    !dead_letter.nil?
  end

  def alive?(pid)
    File.read("/proc/#{pid}/stat").rpartition(") ").last[0] != "Z"
  rescue Errno::ENOENT
    false
  end
end
