# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # What the cluster knows of groups: their members, and how far they are.
      #
      # **Threads**: any. Each call waits for the brokers for `timeout` seconds at most.
      # @private
      class Groups
        # A consumer in a process, and the partitions that the group gave to it.
        Member = Struct.new(:id, :client, :host, :partitions)
        STABLE = {require_stable_offsets: 1}.freeze # waits for an open transaction

        # @param timeout [Numeric] seconds
        def initialize(handle, timeout)
          @request = Request.new(handle, timeout)
        end

        # @return [Array<String>] names of all groups
        def names
          read = lambda do |event|
            result = Functions.event_ListConsumerGroups_result(event)
            Request.list(:ListConsumerGroups_result_valid, result).map do |one|
              utf8(Functions.ConsumerGroupListing_group_id(one))
            end
          end
          @request.call(:groups, read) do |native, options, queue|
            Functions.ListConsumerGroups(native, options, queue)
          end
        end

        # @param names [Array<String>]
        # @return [Hash{String => Array<Member>}] of those groups that can be seen
        def members(names)
          return {} if names.empty?
          texts = names.map { |name| ::FFI::MemoryPointer.from_string(name) }
          read = lambda do |event|
            result = Functions.event_DescribeConsumerGroups_result(event)
            Request.list(:DescribeConsumerGroups_result_groups, result).filter_map { |one|
              next unless Functions.ConsumerGroupDescription_error(one).null?
              [utf8(Functions.ConsumerGroupDescription_group_id(one)), members_of(one)]
            }.to_h
          end
          @request.call(:members, read) do |native, options, queue|
            Functions.DescribeConsumerGroups(native, Request.array(texts), names.size, options,
              queue)
          end
        end

        # @param wanted [Array<PartitionList::Entry>, nil] nil: all partitions with a commit
        # @return [Array<PartitionList::Entry>] with the committed offset and text; an offset below
        #   0: there is none
        def committed(group, wanted = nil) = ask(:call, group, wanted)

        # Asks for the positions behind open transactions, which may take until these have ended.
        # @return [Answer] of {#committed}'s value
        def ask_committed(group, wanted) = ask(:send, group, wanted, **STABLE)

        # Sets offsets of a group that has no members.
        # @param entries [Array<PartitionList::Entry>]
        def set(group, entries)
          return if entries.empty?
          read = lambda do |event|
            result = Functions.event_AlterConsumerGroupOffsets_result(event)
            partitions(:AlterConsumerGroupOffsets_result_groups, result, group)
          end
          found = PartitionList.with(entries) do |list|
            wish = Functions.AlterConsumerGroupOffsets_new(group, list)
            @request.call(:set, read, resource: group) do |native, options, queue|
              Functions.AlterConsumerGroupOffsets(native, Request.array([wish]), 1, options, queue)
            end
          ensure
            Functions.AlterConsumerGroupOffsets_destroy(wish) if wish
          end
          wrong = found.find { |one| !one.error.zero? }
          raise Errors.of(wrong.error, :set, nil, resource: group) if wrong
        end

        private

        def ask(how, group, wanted, **options)
          read = lambda do |event|
            result = Functions.event_ListConsumerGroupOffsets_result(event)
            partitions(:ListConsumerGroupOffsets_result_groups, result, group)
          end
          list = wanted ? PartitionList.method(:with) : ->(_, &block) { block.call(nil) }
          list.call(wanted) do |pointer|
            wish = Functions.ListConsumerGroupOffsets_new(group, pointer)
            @request.public_send(how, :positions, read, resource: group,
              **options) do |native, with, queue|
              Functions.ListConsumerGroupOffsets(native, Request.array([wish]), 1, with, queue)
            end
          ensure
            Functions.ListConsumerGroupOffsets_destroy(wish) if wish
          end
        end

        def utf8(text) = text.dup.force_encoding(Encoding::UTF_8)

        # @raise [Error] of the group
        def partitions(function, result, group)
          one = Request.list(function, result).first
          error = Functions.group_result_error(one)
          unless error.null?
            raise Errors.of(Functions.error_code(error), :positions,
              Functions.error_string(error), resource: group)
          end
          PartitionList.read(Functions.group_result_partitions(one))
        end

        def members_of(group)
          Array.new(Functions.ConsumerGroupDescription_member_count(group)) do |index|
            member = Functions.ConsumerGroupDescription_member(group, index)
            assignment = Functions.MemberDescription_assignment(member)
            list = Functions.MemberAssignment_partitions(assignment)
            names = %i[consumer_id client_id host].map do |name|
              utf8(Functions.__send__(:"MemberDescription_#{name}", member))
            end
            Member.new(*names, PartitionList.read(list))
          end
        end
      end
    end
  end
end
