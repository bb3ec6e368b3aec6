# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # The groups of a cluster: their members and their committed offsets.
      #
      # All brokers get the requests for a group, and those that do not have the group refuse them:
      # librdkafka's own search for a group's coordinator may never end, and may abort the process
      # (confluentinc/librdkafka, issue 4605). A refusal to a producer's handle ends the process, so
      # these requests use a consumer's handle.
      #
      # **Threads**: any. Each call waits for the brokers for `timeout` seconds at most.
      # @private
      class Groups
        # A consumer in a process, and the partitions that the group assigned to it.
        Member = Struct.new(:id, :client, :host, :partitions)
        # With this option a broker answers when open transactions have ended.
        STABLE = {require_stable_offsets: 1}.freeze

        PATIENCE = 10 # seconds until a request is repeated: the group may be on another broker now
        # Errors of a broker that does not have the group, or has not loaded it yet:
        # COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR.
        REFUSALS = [14, 15, 16].freeze

        # @param settings [Settings]
        # @param cluster [Cluster] knows the brokers; its handle is closed before these groups
        def initialize(settings, cluster)
          @settings = settings
          @cluster = cluster
          @lock = Mutex.new
        end

        def close = @lock.synchronize { @handle&.close }

        # @return [Array<String>] names of all groups
        def names
          request.call(:groups, :ListConsumerGroups, :valid) do |found|
            found.map { |one| utf8(Functions.ConsumerGroupListing_group_id(one)) }.uniq
          end
        end

        # @param names [Array<String>] valid UTF-8, none twice
        # @return [Hash{String => Array<Member>}] of those groups that this user may see
        def members(names)
          return {} if names.empty?
          texts = names.map { |name| ::FFI::MemoryPointer.from_string(name) }
          array = Request.array(texts)
          known = {}
          request.call(:members, :DescribeConsumerGroups, :groups, *array,
            brokers: @cluster.method(:brokers)) do |found|
            refused = found.filter_map { |one| describe(one, known) }
            (known.size == names.size) ? known : raise(refused.last)
          end.compact
        end

        # @param wanted [Array<PartitionList::Entry>, nil] nil: all partitions with a commit
        # @return [Array<PartitionList::Entry>] with the committed offset and text; an offset below
        #   0: nothing is committed
        def committed(group, wanted = nil)
          offsets(:call, :positions, :ListConsumerGroupOffsets, group, wanted)
        end

        # Requests the positions after open transactions: the answer may wait for their ends.
        # @return [Answer] of {#committed}'s value
        def request_committed(group, wanted)
          offsets(:send, :positions, :ListConsumerGroupOffsets, group, wanted, **STABLE)
        end

        # Sets offsets of a group that has no members.
        # @param entries [Array<PartitionList::Entry>]
        def set(group, entries)
          return if entries.empty?
          found = offsets(:call, :set, :AlterConsumerGroupOffsets, group, entries)
          wrong = found.find { |one| !one.error.zero? }
          raise Errors.of(wrong.error, :set, nil, resource: group) if wrong
        end

        private

        # @raise [ClosedError, ForkedError]
        def request
          @lock.synchronize do
            @cluster.check_open
            @request ||= begin
              @handle = Handle.new(Handle::CONSUMER, @settings.reader)
              timeout = @settings.timeout
              Request.new(@handle, timeout, patience: [timeout, PATIENCE].min)
            end
          end
        end

        # @param how [Symbol] :call or :send
        # @param operation [Symbol] for errors
        # @param function [Symbol] that reads or sets the offsets of a group
        def offsets(how, operation, function, group, wanted, **options)
          PartitionList.with(wanted) do |list|
            wish = Functions.__send__(:"#{function}_new", group, list)
            request.public_send(how, operation, function, :groups, *Request.array([wish]),
              resource: group, brokers: @cluster.method(:brokers),
              **options) { |(one)| partitions(one, group) }
          ensure
            Functions.__send__(:"#{function}_destroy", wish) if wish
          end
        end

        def utf8(text) = text.dup.force_encoding(Encoding::UTF_8)

        # @raise [Error] the group's error
        def partitions(one, group)
          error = Functions.group_result_error(one)
          unless error.null?
            raise Errors.of(Functions.error_code(error), :positions,
              Functions.error_string(error), resource: group)
          end
          found = PartitionList.read(Functions.group_result_partitions(one))
          refused = found.find { |entry| REFUSALS.include?(entry.error) }
          refused ? raise(Errors.of(refused.error, :positions, nil, resource: group)) : found
        end

        # Stores the members of a group.
        # @param known [Hash{String => Array<Member>, nil}] nil: this user may not see the group
        # @return [Error, nil] the error of a broker that does not know the group's members
        def describe(group, known)
          error = Functions.ConsumerGroupDescription_error(group)
          code = error.null? ? 0 : Functions.error_code(error)
          name = utf8(Functions.ConsumerGroupDescription_group_id(group))
          # A code below 0 is librdkafka's own, as when a broker has left the cluster.
          return Errors.of(code, :members, nil, resource: name) if
            code < 0 || Errors.retriable?(code)
          known[name] ||= (members_of(group) if code.zero?)
          nil
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
