# frozen_string_literal: true

require "support/kafka_failures"

# Consumers are killed while a producer writes records.
class WorkKafkaKillsTest < Godwit::KafkaFailureCase
  KILLS = LONG ? 24 : 4
  EVERY = 5 # seconds between two kills in bin/test --full

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
end
