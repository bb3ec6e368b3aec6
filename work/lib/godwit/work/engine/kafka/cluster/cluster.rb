# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Topics of a cluster: their partitions, properties and ends.
      #
      # **Threads**: any. Each call waits for the brokers for `timeout` seconds at most.
      # @private
      class Cluster
        TOPIC = 2 # a resource that has properties
        SET = 0 # an operation with a property
        EARLIEST = -2
        LATEST = -1
        INVALID = -1001 # no offset
        COMMITTED = {isolation_level: 1}.freeze # no record of an open transaction
        ALREADY_THERE = 36
        REFUSED = [-169, -181].freeze # authentication, TLS: no attempt will succeed
        AGAIN = 0.01 # seconds
        private_constant :TOPIC, :SET, :EARLIEST, :LATEST, :INVALID, :COMMITTED, :ALREADY_THERE,
          :REFUSED, :AGAIN

        # @param timeout [Numeric] seconds
        # @yieldreturn [Array(Integer, String), nil] code and text of the last error of a connection
        def initialize(handle, timeout, &problem)
          @problem = problem || -> {}
          @handle = handle
          @timeout = timeout
          @request = Request.new(handle, timeout)
        end

        # @param limit [Numeric] seconds
        # @return [Hash{String => Integer}] partitions of all topics by name
        # @raise [Error] with the cause
        def topics(limit = @timeout)
          start = Timeout.now
          loop do
            left = Timeout.left(limit, start)
            code, found = metadata(left)
            return found if code.zero?
            cause, text = @problem.call
            raise Errors.of(cause || code, :connect, text) if left.zero? || REFUSED.include?(cause)
            raise Errors.of(code, :topics) unless Errors.retriable?(code)
          end
        end

        # @param properties [Hash{String => String}]
        # @return [Boolean] false: another process was first
        def create(name, partitions, replication, properties)
          text = ::FFI::MemoryPointer.new(256)
          topic = Functions.NewTopic_new(name, partitions, replication, text, 256)
          raise invalid(name, text) if topic.null?
          properties.each { |key, value| Functions.NewTopic_set_config(topic, key, value) }
          results = lambda do |event|
            result = Functions.event_CreateTopics_result(event)
            Request.list(:CreateTopics_result_topics, result)
          end
          change(:create, name, results, &send_one(:CreateTopics, topic)) != ALREADY_THERE
        ensure
          Functions.NewTopic_destroy(topic) unless topic.nil? || topic.null?
        end

        # @param partitions [Integer] that the topic has then
        def grow(name, partitions)
          text = ::FFI::MemoryPointer.new(256)
          more = Functions.NewPartitions_new(name, partitions, text, 256)
          raise invalid(name, text) if more.null?
          results = lambda do |event|
            result = Functions.event_CreatePartitions_result(event)
            Request.list(:CreatePartitions_result_topics, result)
          end
          change(:grow, name, results, &send_one(:CreatePartitions, more))
          nil
        ensure
          Functions.NewPartitions_destroy(more) unless more.nil? || more.null?
        end

        # @param names [Array<String>]
        # @return [Hash{String => Hash{String => String}}] properties of topics; none of those that
        #   this user may not see
        def properties(names)
          return {} if names.empty?
          resources = names.map { |name| Functions.ConfigResource_new(TOPIC, name) }
          read = lambda do |event|
            result = Functions.event_DescribeConfigs_result(event)
            Request.list(:DescribeConfigs_result_resources, result).filter_map { |one|
              next unless Functions.ConfigResource_error(one).zero?
              [Functions.ConfigResource_name(one).force_encoding(Encoding::UTF_8), entries(one)]
            }.to_h
          end
          @request.call(:properties, read) do |native, options, queue|
            Functions.DescribeConfigs(native, Request.array(resources), names.size, options, queue)
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
          read = lambda do |event|
            result = Functions.event_IncrementalAlterConfigs_result(event)
            one = Request.list(:IncrementalAlterConfigs_result_resources, result).first
            [Functions.ConfigResource_error(one), Functions.ConfigResource_error_string(one)]
          end
          code, text = @request.call(:change, read, resource: name,
            &send_one(:IncrementalAlterConfigs, resource))
          raise Errors.of(code, :change, text, resource: name) unless code.zero?
        ensure
          Functions.ConfigResource_destroy(resource) if resource
        end

        # @param name [String] of a topic
        # @param since [Integer] time in milliseconds since 1970; 0: the log's start
        # @return [Array<Array(Integer, Integer)>] of each partition: the offset of the first
        #   record at or after the time, else the end; and the end
        def bounds(name, partitions, since)
          ends = ends(name, partitions)
          firsts = offsets(name, partitions, since.zero? ? EARLIEST : since)
          firsts.map.with_index do |first, number|
            [(first < 0) ? ends[number] : [first, ends[number]].min, ends[number]]
          end
        end

        # @return [Array<Integer>] of each partition the next offset that will be given
        def ends(name, partitions) = offsets(name, partitions, LATEST)

        # @return [Integer] the offset of the first record of a partition
        def first(name, partition) = offset(name, partition, EARLIEST)

        # @return [Integer] the next offset that will be given in a partition
        def finish(name, partition) = offset(name, partition, LATEST)

        private

        def invalid(name, text)
          Godwit::Errors.of(ArgumentValueError, :topic, "#{name}: #{text.read_string}")
        end

        # @return [Array(Integer, Hash)] an error's code, and partitions by topic
        def metadata(left)
          place = ::FFI::MemoryPointer.new(:pointer)
          code = @handle.wait(:metadata, @handle.pointer, 1, nil, place,
            ([left, Handle::SLICE].min * 1000).ceil)
          return [code, nil] unless code.zero?
          found = place.read_pointer
          begin
            [0, Metadata.topics(found)]
          ensure
            Functions.metadata_destroy(found)
          end
        end

        def offset(name, partition, which)
          offsets_of(name, [PartitionList::Entry.new(name, partition, which)]).first.offset
        end

        def offsets(name, partitions, which)
          wanted = Array.new(partitions) { |number| PartitionList::Entry.new(name, number, which) }
          offsets_of(name, wanted).sort_by(&:partition).map(&:offset)
        end

        # A leader that has just changed is asked again.
        def offsets_of(name, wanted)
          start = Timeout.now
          begin
            found = ask_offsets(name, wanted)
            code = found.map { |one| problem_of(one) }.find { |one| !one.zero? } or return found
            raise Errors.of(code, :offsets, nil, resource: name)
          rescue BrokerError => error
            raise unless error.retriable? && Timeout.left(@timeout, start) > 0
            sleep AGAIN
            retry
          end
        end

        # While brokers start, librdkafka gives partitions without an answer no error.
        def problem_of(entry)
          (entry.error.zero? && entry.offset == INVALID) ? Errors::TIMED_OUT : entry.error
        end

        def ask_offsets(name, wanted)
          read = lambda do |event|
            result = Functions.event_ListOffsets_result(event)
            Request.list(:ListOffsets_result_infos, result).map do |info|
              PartitionList.entry(Functions.ListOffsetsResultInfo_topic_partition(info))
            end
          end
          PartitionList.with(wanted) do |list|
            @request.call(:offsets, read, resource: name, **COMMITTED) do |native, options, queue|
              Functions.ListOffsets(native, list, options, queue)
            end
          end
        end

        def entries(resource)
          Request.list(:ConfigResource_configs, resource).to_h do |entry|
            [Functions.ConfigEntry_name(entry), Functions.ConfigEntry_value(entry)]
          end
        end

        # @return [Proc] that sends an Array of one
        def send_one(function, object)
          lambda do |native, options, queue|
            Functions.__send__(function, native, Request.array([object]), 1, options, queue)
          end
        end

        # @return [Integer] 0, or ALREADY_THERE
        def change(operation, name, results, &send)
          read = lambda do |event|
            one = results.call(event).first
            [Functions.topic_result_error(one), Functions.topic_result_error_string(one)]
          end
          code, text = @request.call(operation, read, resource: name, &send)
          return code if code.zero? || code == ALREADY_THERE
          raise Errors.of(code, operation, text, resource: name)
        end
      end
    end
  end
end
