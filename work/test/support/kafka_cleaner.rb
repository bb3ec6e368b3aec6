# frozen_string_literal: true

require "ffi"

# Deletes all topics and groups of the cluster that the tests use.
class KafkaCleaner
  Kafka = Godwit::Work.const_get(:Kafka)
  LATEST = -1

  # librdkafka's functions: those of Work, and more that only the tests need.
  Functions = Kafka::Functions.tap do |functions|
    functions.load
    {"Topic" => "topics", "Group" => "groups"}.each do |one, many|
      {
        "Delete#{one}_new" => [[:string], :pointer],
        "Delete#{one}_destroy" => [[:pointer], :void],
        "Delete#{one}s" => [%i[pointer pointer size_t pointer pointer], :void],
        "event_Delete#{one}s_result" => [[:pointer], :pointer],
        "Delete#{one}s_result_#{many}" => [%i[pointer pointer], :pointer]
      }.each { |name, type| functions.attach_function(name, "rd_kafka_#{name}", *type) }
    end
    {
      DeleteRecords_new: [[:pointer], :pointer],
      DeleteRecords: [%i[pointer pointer size_t pointer pointer], :void],
      event_DeleteRecords_result: [[:pointer], :pointer]
    }.each { |name, type| functions.attach_function(name, "rd_kafka_#{name}", *type) }
    # Request reads an Array from each answer. The answer to DeleteRecords has none.
    functions.define_singleton_method(:DeleteRecords_result_none) { |_result, _count| nil }
  end

  # @param url [String]
  def initialize(url)
    settings = Kafka::Settings.new(url)
    @handle = Kafka::Handle.new(Kafka::Handle::PRODUCER, settings.producer)
    @request = Kafka::Request.new(@handle, settings.timeout)
    @cluster = Kafka::Cluster.new(@handle, settings.timeout)
    @groups = Kafka::Groups.new(settings, @cluster)
  end

  # Deletes all groups and topics. Raises if some still exist after KafkaLog::WAIT seconds.
  def clean
    start
    delete_groups
    until (topics = self.topics).empty? # the controller deletes a topic before the brokers do
      codes = delete("Topic", topics, :topic_result_error)
      check("topics #{topics}: #{codes}")
    end
  end

  # Waits until no transaction is open: then a reader of committed records gets all records.
  def await_transactions
    start
    check("open transactions") until ends(0) == ends(1) # 0: all records, 1: committed ones
  end

  # @return [nil]
  def close
    @handle.close
    @groups.close
  end

  private

  def start = @finish = Godwit::Timeout.now + KafkaLog::WAIT

  def check(what)
    raise "there are still #{what}" if Godwit::Timeout.now > @finish
    Thread.pass
  end

  # @return [Array<Array>] topic, partition and end of each partition at the isolation level
  def ends(isolation)
    wanted = @cluster.topics.reject { |name, _| name.match?(KafkaLog::KEPT) }
      .flat_map { |name, count| (0...count).map { |number| entry(name, number) } }
    Kafka::PartitionList.with(wanted) { |list|
      @request.call(:offsets, :ListOffsets, :infos, list, isolation_level: isolation) do |infos|
        infos.map do |info|
          one = Functions.ListOffsetsResultInfo_topic_partition(info)
          Kafka::PartitionList.entry(one).to_a.first(3)
        end
      end
    }.sort
  end

  def entry(name, number) = Kafka::PartitionList::Entry.new(name, number, LATEST)
  def topics = @cluster.topics.keys.grep_v(KafkaLog::KEPT)

  # Retries, since a group with members cannot be deleted. A killed member's session must end first.
  def delete_groups
    until (groups = @groups.names).empty?
      codes = delete("Group", groups, :group_result_error)
      check("groups #{groups}: #{codes}")
    end
  end

  # @return [Array<Integer>] librdkafka's error code for each name
  def delete(kind, names, error)
    wishes = names.map { |name| Functions.__send__("Delete#{kind}_new", name) }
    @request.call(:delete, :"Delete#{kind}s", "#{kind}s".downcase,
      *Kafka::Request.array(wishes)) do |results|
      results.map { |one| code(Functions.__send__(error, one)) }
    end
  ensure
    wishes&.each { |one| Functions.__send__("Delete#{kind}_destroy", one) }
  end

  def code(one)
    return one if one.is_a?(Integer)
    one.null? ? 0 : Functions.error_code(one)
  end
end
