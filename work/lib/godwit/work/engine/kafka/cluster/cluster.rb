# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Topics of a cluster: their partitions, properties and ends.
      #
      # **Threads**: any. Each call waits for the brokers for `timeout` seconds at most.
      # @private
      class Cluster
        TOPIC = 2 # librdkafka's number for a topic as a resource with properties
        SET = 0 # librdkafka's number for the operation that sets a property
        EARLIEST = -2
        LATEST = -1
        INVALID = -1001 # librdkafka's number for "no offset"
        COMMITTED = {isolation_level: 1}.freeze # a partition ends at its first open transaction
        ALREADY_THERE = 36
        REFUSED = [-169, -181].freeze # authentication or TLS failed: no attempt will succeed
        NO_LEADER = 5 # the error of a partition whose leader is not known yet

        # @param timeout [Numeric] seconds that a call waits for the brokers
        # @yieldreturn [Array(Integer, String), nil] code and text of the last error of a connection
        def initialize(handle, timeout, &problem)
          @problem = problem || -> {}
          @handle = handle
          @timeout = timeout
          @request = Request.new(handle, timeout)
        end

        # @param limit [Numeric] seconds that the call waits for the brokers
        # @return [Hash{String => Integer}] partitions of all topics by name
        # @raise [Error] with the cause
        def topics(limit = @timeout)
          start = Timeout.now
          loop do
            remaining = Timeout.remaining(limit, start)
            code, found = metadata(remaining) { |one| partitions_of(one) }
            return found if code.zero?
            cause, text = @problem.call
            raise Errors.of(cause || code, :connect, text) if
              remaining.zero? || REFUSED.include?(cause)
            raise Errors.of(code, :topics) unless Errors.retriable?(code)
          end
        end

        # Waits for an answer for 0.5 s at most.
        # @return [Array<Integer>] ids of the brokers, as the last answer names them
        # @raise [BrokerError] no broker has ever answered
        # @raise [ClosedError, ForkedError] (see Handle#pointer)
        def brokers
          code, = metadata(Handle::SLICE, all: 0) { nil }
          @brokers || raise(Errors.of(code.zero? ? Errors::TIMED_OUT : code, :brokers))
        end

        # @raise [ClosedError, ForkedError] (see Handle#pointer)
        def check_open = @handle.pointer

        # @param properties [Hash{String => String}]
        # @return [Boolean] false: the topic exists, another process was first
        def create(name, partitions, replication, properties)
          topic = make(:NewTopic, name, partitions, replication)
          properties.each { |key, value| Functions.NewTopic_set_config(topic, key, value) }
          change(:create, :CreateTopics, name, topic) != ALREADY_THERE
        ensure
          Functions.NewTopic_destroy(topic) if topic
        end

        # @param partitions [Integer] number of partitions that the topic has afterwards
        def grow(name, partitions)
          more = make(:NewPartitions, name, partitions)
          change(:grow, :CreatePartitions, name, more)
        ensure
          Functions.NewPartitions_destroy(more) if more
        end

        # @param names [Array<String>]
        # @return [Hash{String => Hash{String => String}}] properties of the topics that this user
        #   may see
        def properties(names)
          return {} if names.empty?
          resources = names.map { |name| Functions.ConfigResource_new(TOPIC, name) }
          array = Request.array(resources)
          @request.call(:properties, :DescribeConfigs, :resources, *array) do |found|
            found.select { |one| Functions.ConfigResource_error(one).zero? }.to_h do |one|
              [Functions.ConfigResource_name(one).force_encoding(Encoding::UTF_8), entries(one)]
            end
          end
        ensure
          resources&.each { |one| Functions.ConfigResource_destroy(one) }
        end

        # @param properties [Hash{String => String}]
        def change_properties(name, properties)
          resource = Functions.ConfigResource_new(TOPIC, name)
          properties.each do |key, value|
            Errors.check(Functions.ConfigResource_add_incremental_config(resource, key, SET, value),
              :change)
          end
          change(:change, :IncrementalAlterConfigs, name, resource, :resources, :ConfigResource)
        ensure
          Functions.ConfigResource_destroy(resource) if resource
        end

        # @param name [String] of a topic
        # @param since [Integer] time in milliseconds since 1970; 0: the log's start
        # @return [Array<Array(Integer, Integer)>] for each partition: the offset of the first
        #   record at or after the time, else the end; and the end
        def bounds(name, partitions, since)
          ends = ends(name, partitions)
          firsts = offsets(name, partitions, since.zero? ? EARLIEST : since)
          firsts.map.with_index do |first, number|
            [(first < 0) ? ends[number] : [first, ends[number]].min, ends[number]]
          end
        end

        # @return [Array<Integer>] for each partition the offset that the next record will get
        def ends(name, partitions) = offsets(name, partitions, LATEST)

        # @return [Integer] the offset of the first record of a partition
        def first(name, partition) = offset(name, partition, EARLIEST)

        # @return [Integer] the offset that the next record of a partition will get
        def finish(name, partition) = offset(name, partition, LATEST)

        private

        # @param type [Symbol] :NewTopic or :NewPartitions
        # @return [FFI::Pointer] to an object that the caller destroys
        # @raise [ArgumentValueError] with librdkafka's reason
        def make(type, name, *numbers)
          text = ::FFI::MemoryPointer.new(256)
          pointer = Functions.__send__(:"#{type}_new", name, *numbers, text, 256)
          return pointer unless pointer.null?
          raise Godwit::Errors.of(ArgumentValueError, :topic, "#{name}: #{text.read_string}")
        end

        # @param all [Integer] 1: with all topics
        # @yieldparam metadata [Functions::Metadata] until the block ends
        # @return [Array(Integer, Object)] an error's code; the block's value
        def metadata(seconds, all: 1)
          found = ::FFI::MemoryPointer.new(:pointer)
          code = @handle.wait(:metadata, @handle.pointer, all, nil, found,
            ([seconds, Handle::SLICE].min * 1000).ceil)
          return [code, nil] unless code.zero?
          begin
            answer = Functions::Metadata.new(found.read_pointer)
            ids = structs(Functions::MetadataBroker, answer[:broker_list], answer[:brokers])
              .map { |one| one[:id] }
            @brokers = ids if ids.any?
            [0, yield(answer)]
          ensure
            Functions.metadata_destroy(found.read_pointer)
          end
        end

        # @param type [Class] of the elements of an array in C
        # @return [Array<FFI::Struct>]
        def structs(type, first, count)
          Array.new(count) { |index| type.new(first + index * type.size) }
        end

        # @return [Hash{String => Integer}]
        def partitions_of(metadata)
          topics = structs(Functions::MetadataTopic, metadata[:topic_list], metadata[:topics])
          topics.select { |topic| topic[:error].zero? }.to_h do |topic|
            [topic[:name].read_string.force_encoding(Encoding::UTF_8), topic[:partitions]]
          end
        end

        def offset(name, partition, which)
          offsets_of(name, [PartitionList::Entry.new(name, partition, which)]).first.offset
        end

        def offsets(name, partitions, which)
          wanted = Array.new(partitions) { |number| PartitionList::Entry.new(name, number, which) }
          offsets_of(name, wanted).sort_by(&:partition).map(&:offset)
        end

        def offsets_of(name, wanted)
          PartitionList.with(wanted) do |list|
            @request.call(:offsets, :ListOffsets, :infos, list, resource: name,
              **COMMITTED) do |infos|
              infos.map { |one| known(name, Functions.ListOffsetsResultInfo_topic_partition(one)) }
            end
          end
        end

        # Returns a partition's entry with an offset. While brokers start, librdkafka gives no error
        # for a partition without an offset: this method raises the error of a missing leader.
        # @raise [Error] the request is sent again if the error is retriable, as for a new leader
        def known(name, pointer)
          entry = PartitionList.entry(pointer)
          missing = entry.error.zero? && entry.offset == INVALID
          code = missing ? NO_LEADER : entry.error
          code.zero? ? entry : raise(Errors.of(code, :offsets, nil, resource: name))
        end

        def entries(resource)
          Request.list(:ConfigResource_configs, resource).to_h do |entry|
            [Functions.ConfigEntry_name(entry), Functions.ConfigEntry_value(entry)]
          end
        end

        # @param object [FFI::Pointer] the function's argument
        # @param results [Symbol] (see Request#send)
        # @param type [Symbol] the results' type in the names of librdkafka's functions
        # @return [Integer] 0, or ALREADY_THERE
        def change(operation, function, name, object, results = :topics, type = :topic_result)
          code, text = @request.call(operation, function, results, *Request.array([object]),
            resource: name) do |(one)|
            [:error, :error_string].map { |fact| Functions.__send__(:"#{type}_#{fact}", one) }
          end
          return code if code.zero? || code == ALREADY_THERE
          raise Errors.of(code, operation, text, resource: name)
        end
      end
    end
  end
end
