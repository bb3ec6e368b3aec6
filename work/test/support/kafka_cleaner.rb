# frozen_string_literal: true

require "ffi"

# Empties a cluster of the tests.
class KafkaCleaner
  Kafka = Godwit::Work.const_get(:Kafka)
  LATEST = -1

  # Functions that Work does not need.
  module Deleting
    extend FFI::Library

    ffi_lib_flags :now, :local
    ffi_lib Kafka::Library.find.path
    {"Topic" => "topics", "Group" => "groups"}.each do |one, many|
      attach_function "Delete#{one}_new", "rd_kafka_Delete#{one}_new", [:string], :pointer
      attach_function "Delete#{one}_destroy", "rd_kafka_Delete#{one}_destroy", [:pointer], :void
      attach_function "Delete#{one}s", "rd_kafka_Delete#{one}s",
        %i[pointer pointer size_t pointer pointer], :void
      attach_function "event_Delete#{one}s_result", "rd_kafka_event_Delete#{one}s_result",
        [:pointer], :pointer
      attach_function "Delete#{one}s_result_#{many}", "rd_kafka_Delete#{one}s_result_#{many}",
        %i[pointer pointer], :pointer
    end
    attach_function :DeleteRecords_new, :rd_kafka_DeleteRecords_new, [:pointer], :pointer
    attach_function :DeleteRecords, :rd_kafka_DeleteRecords,
      %i[pointer pointer size_t pointer pointer], :void
  end

  # @param url [String]
  def initialize(url)
    settings = Kafka::Settings.new(url)
    @handle = Kafka::Handle.new(Kafka::Handle::PRODUCER, settings.producer)
    @request = Kafka::Request.new(@handle, settings.timeout)
    @groups = Kafka::Groups.new(@handle, settings.timeout)
    @cluster = Kafka::Cluster.new(@handle, settings.timeout)
  end

  # @return [nil]
  def clean
    start
    delete_groups
    until (topics = self.topics).empty? # a broker hears of it after the controller
      codes = delete("Topic", topics, :topic_result_error)
      check("topics #{topics}: #{codes}")
    end
  end

  # Waits until no transaction is open: then readers see all records.
  def await_transactions
    start
    check("open transactions") until ends(0) == ends(1) # of all records, and of committed ones
  end

  # @return [nil]
  def close = @handle.close

  private

  def start = @finish = Godwit::Timeout.now + KafkaLog::WAIT

  def check(what)
    raise "there are still #{what}" if Godwit::Timeout.now > @finish
    Thread.pass
  end

  # @return [Array<Array>] the end of each partition
  def ends(isolation)
    wanted = @cluster.topics.reject { |name, _| name.match?(KafkaLog::KEPT) }
      .flat_map { |name, count| (0...count).map { |number| entry(name, number) } }
    read = lambda do |event|
      result = Kafka::Functions.event_ListOffsets_result(event)
      Kafka::Request.list(:ListOffsets_result_infos, result).map do |info|
        one = Kafka::Functions.ListOffsetsResultInfo_topic_partition(info)
        Kafka::PartitionList.entry(one).to_a.first(3)
      end
    end
    Kafka::PartitionList.with(wanted) { |list|
      @request.call(:offsets, read, isolation_level: isolation) do |native, options, queue|
        Kafka::Functions.ListOffsets(native, list, options, queue)
      end
    }.sort
  end

  def entry(name, number) = Kafka::PartitionList::Entry.new(name, number, LATEST)
  def topics = @cluster.topics.keys.grep_v(KafkaLog::KEPT)

  # Members that a kill has ended leave after their session.
  def delete_groups
    until (groups = @groups.names).empty?
      codes = delete("Group", groups, :group_result_error)
      check("groups #{groups}: #{codes}")
    end
  end

  # @return [Array<Integer>] errors
  def delete(kind, names, error)
    wishes = names.map { |name| Deleting.__send__("Delete#{kind}_new", name) }
    read = lambda do |event|
      result = Deleting.__send__("event_Delete#{kind}s_result", event)
      results(kind, result).map { |one| code(Kafka::Functions.__send__(error, one)) }
    end
    @request.call(:delete, read) do |native, options, queue|
      Deleting.__send__("Delete#{kind}s", native, Kafka::Request.array(wishes), names.size,
        options, queue)
    end
  ensure
    wishes&.each { |one| Deleting.__send__("Delete#{kind}_destroy", one) }
  end

  def results(kind, result)
    count = FFI::MemoryPointer.new(:size_t)
    many = (kind == "Topic") ? "topics" : "groups"
    Deleting.__send__("Delete#{kind}s_result_#{many}", result, count)
      .read_array_of_pointer(count.read(:size_t))
  end

  def code(one)
    return one if one.is_a?(Integer)
    one.null? ? 0 : Kafka::Functions.error_code(one)
  end
end
