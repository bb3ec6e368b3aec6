# frozen_string_literal: true

require "work_helper"

# An engine for a test, on a file or on Kafka, and helpers that use the engine.
module Engines
  # A format of Integers: their digits in reverse order.
  module Backwards
    def self.dump(value) = value.to_s.reverse
    def self.load(bytes) = Integer(bytes.reverse)
  end

  # @return [Object] a WakeUp: the FIFO by which other processes wake this process
  def wake_up = @wake_up ||= own(Godwit::Work.const_get(:WakeUp).new("#{path}.members"))

  # @return [Object] the engine of this test
  def engine = @engine ||= own(KafkaLog::ON ? shared_engine : sqlite)

  # @return [String] the path for `join`: of a FIFO that does not exist; on Kafka, of a listener
  def place = KafkaLog::ON ? (@listener ||= own(engine.listen)).path : "/77-ab-host"

  # Claims partitions for a member. Kafka assigns them only after a rebalance of the whole group.
  # @return [Array<Object>] the claimed positions, sorted by partition
  def claims(member, count)
    found = []
    eventually do
      found.concat(engine.rebalance(member)&.claims.to_a)
      found.size >= count
    end
    found.sort_by(&:partition)
  end

  def path = File.join(scratch_dir, "work.db")

  # @return [Object] an engine on the test's file
  def sqlite(**options) = Godwit::Work.const_get(:SqliteEngine).new(path, **options)

  # @return [Godwit::Work::Client]
  def client = @client ||= Godwit::Work::Client.new(engine)

  def topic(name = "numbers", partitions: 4, format: "json", **limits)
    engine.save_topic(Godwit::Work::Topic.new(name: name, partitions: partitions,
      format: format, partitioner: :crc32, **limits))
  end

  # @return [String] a block with these values
  def block(*values) = Godwit::Work.const_get(:Block).encode(values)

  # @return [String] the same block in the form that an engine stores
  def stored(*values) = Godwit::Work.const_get(:StoredBlock).seal(block(*values))
end
