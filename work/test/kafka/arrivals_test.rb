# frozen_string_literal: true

require "work_helper"
require "support/librdkafka"

# Arrivals while a group's transaction is open: the brokers do not send the committed offsets.
class WorkKafkaArrivalsTest < Godwit::WorkCase
  Kafka = Godwit::Work.const_get(:Kafka)
  UNSTABLE = 88 # librdkafka's code UNSTABLE_OFFSET_COMMIT
  Answer = Struct.new(:receive) { def close = nil }

  # Stands in for Kafka::Groups: each request gets the next of `answers`. nil: no answer has come.
  class Groups
    def initialize(answers) = @answers = answers
    def request_committed(*) = Answer.new(@answers.shift)
  end

  def setup
    super
    Kafka::Functions.load
  end

  def entry(error) = Kafka::PartitionList::Entry.new("t", 3, 7, nil, error)

  test "when positions do not come for 30 s, an error names what helps, again and again" do
    answers = [nil, [entry(UNSTABLE)], [entry(UNSTABLE)], [entry(0)]]
    engine = Struct.new(:groups).new(Groups.new(answers))
    topic = Godwit::Work::Topic.new(name: "t", partitions: 4)
    arrivals = Kafka.const_get(:Arrivals).new(engine, "g", "mark", "owner", {})
    list = [entry(0)]
    ask = -> { arrivals.positions(list) { topic } }
    time = 100.0
    Godwit::Timeout.clock = -> { time }
    assert_empty ask.call
    time += 29
    assert_empty ask.call
    2.times do |round|
      time += 31
      error = assert_raises(Godwit::Work::BrokerError) { ask.call }
      assert_match(/group g in partitions 3 of topic t.* find-hanging/, error.message)
      assert_predicate error, :retriable?
      assert_empty ask.call if round.zero?
    end
    assert_equal [3, 7], ask.call.first.to_h.values_at(:partition, :watermark)
  ensure
    Godwit::Timeout.clock = nil
  end
end
