# frozen_string_literal: true

require "securerandom"

module Godwit
  module Work
    module Kafka
      # A consumer class of this process in its group: a handle of librdkafka, and the partitions
      # that the group gave to it.
      #
      # **Threads**: the coordinator of a Runner alone.
      # @private
      class Membership
        REBALANCE = 0x10 # an event
        ASSIGN = -175
        COMMIT = 5 # seconds that a commit waits for the brokers, at most
        CLOSE = 2 # seconds for leaving the group
        private_constant :REBALANCE, :ASSIGN, :COMMIT, :CLOSE

        # @param engine [KafkaEngine]
        # @param group [String]
        # @param topic [Work::Topic]
        # @param starts [Hash{Integer => Integer}] where the group begins in partitions without a
        #   commit
        # @param wake_up [PipeWakeUp] for records and events
        def initialize(engine, group, topic, starts, wake_up)
          @engine = engine
          @group = group
          @wake_up = wake_up
          @mark = SecureRandom.hex(6)
          @fresh = []
          connect(topic)
          @claims = Claims.new(engine, @handle, group, @mark, topic, starts, wake_up.writer)
        end

        # @return [String] names it in {Position#member}
        attr_reader :mark

        # @return [Work::Topic] as it grows
        def topic = @claims.topic

        # Serves the group's events.
        # @return [Share]
        # @raise [Error]
        def share
          nil while @handle.event(@queue, 0) { |event| serve(event) || true }
          problem, @problem = @problem, nil
          raise problem if problem
          claims = @claims.follow_seek + announce
          kept = @claims.all.to_h { |one| [one.position.partition, one.position.generation] }
            .except(*@fresh.map(&:partition))
          Share.new(claims, @leaving.to_a & kept.keys, kept,
            @engine.paused?(@group, topic) ? kept.keys : [])
        end

        # @return [Array<Block>]
        # @raise [LostError, Error]
        def fetch(position, offset, bytes)
          raise lost(position) unless @claims.own?(position)
          @claims[position.partition].fetch(offset, bytes)
        end

        # Commits without outputs.
        # @param positions [Array<Position>]
        # @param owned [Boolean] whether this member goes on
        # @param noted [Hash{Integer => Integer}] the offset that runs next, by partition
        # @raise [LostError, Error]
        def commit(positions, owned: true, noted: {})
          entries = entries(positions, owned, noted)
          @handle.queue do |queue|
            PartitionList.with(entries) do |list|
              code = Functions.commit_queue(@handle.pointer, list, queue, nil, nil)
              raise Errors.of(code, :commit, nil, resource: @group) unless code.zero?
            end
            await_commit(queue)
          end
          nil
        end

        # @return [Array<PartitionList::Entry>] to commit
        # @raise [LostError] for a partition that it no longer has
        def entries(positions, owned = true, noted = {})
          positions.map do |one|
            raise lost(one) unless @claims.own?(one)
            text = CommitText.new(owner: (@mark if owned), crashes: one.crashes,
              crashed_at: one.crashed_at, noted: noted[one.partition],
              seek: @claims[one.partition].seek, state: one.state)
            PartitionList::Entry.new(topic.name, one.partition, one.watermark, text.dump)
          end
        end

        # The commit of these positions is done.
        def committed(positions)
          positions.each { |one| @claims[one.partition].position = one.dup }
        end

        # Gives partitions up after their last commit. The group gets those of a revocation when
        # the last one is given up.
        # @param positions [Array<Position>]
        def release(positions)
          own = positions.select { |one| @claims.own?(one) }
          commit(own, owned: false) if own.any?
        ensure
          @claims.drop(own.map(&:partition))
          finish_revocation
        end

        # Leaves the group.
        # @return [nil]
        def close
          return if @handle.closed?
          begin
            commit(@claims.all.map(&:position), owned: false) if @claims.all.any?
          rescue Error
            nil # the next owner counts an unclean end
          end
          leave
        end

        # @yieldparam metadata [FFI::Pointer] of the group, for a transaction
        def metadata
          metadata = Functions.consumer_group_metadata(@handle.pointer)
          yield metadata
        ensure
          Functions.consumer_group_metadata_destroy(metadata) if metadata
        end

        # @return [String]
        def inspect = "#<#{self.class} #{@group} #{topic.name}>"

        private

        def partitions = @claims.all.map { |one| one.position.partition }
        def lost(position) = LostError.of(position.topic, position.partition)

        def connect(topic)
          client = "godwit #{Process.pid} #{@mark} #{topic.name}"
          properties = @engine.settings.consumer(@group, topic.partitions, client)
          @handle = Handle.new(Handle::CONSUMER, properties) do |conf|
            Functions.conf_set_events(conf, REBALANCE | Handle::ERROR)
          end
          Functions.poll_set_consumer(@handle.pointer)
          @queue = Functions.queue_get_consumer(@handle.pointer)
          all = [0].pack("V") # the runner looks at all partitions
          Functions.queue_io_event_enable(@queue, @wake_up.writer.fileno, all, all.bytesize)
          PartitionList.with([PartitionList::Entry.new(topic.name)]) do |list|
            code = Functions.subscribe(@handle.pointer, list)
            raise Errors.of(code, :join, nil, resource: @group) unless code.zero?
          end
        end

        def serve(event)
          return error(event) unless Functions.event_type(event) == REBALANCE
          list = PartitionList.read(Functions.event_topic_partition_list(event)).map(&:partition)
          if Functions.event_error(event) == ASSIGN
            @claims.arrive(list)
            return answer(:incremental_assign, [])
          end
          @leaving = @claims.withdraw(list)
          @claims.drop(list) if Functions.assignment_lost(@handle.pointer) == 1
          finish_revocation
        end

        # Such as a broker that is away: {#share} raises it once, and goes on at the next call.
        def error(event)
          code = Functions.event_error(event)
          @problem = Errors.of(code, :consume, Functions.event_error_string(event),
            resource: @group, fatal: Functions.event_error_is_fatal(event) == 1)
        end

        # The group waits for the answer to a revocation.
        def finish_revocation
          return if @leaving.nil? || @leaving.any? { |one| @claims[one] }
          leaving, @leaving = @leaving, nil
          answer(:incremental_unassign, leaving)
        end

        def answer(name, partitions)
          entries = partitions.map { |one| PartitionList::Entry.new(topic.name, one) }
          PartitionList.with(entries) do |list|
            Errors.check(Functions.__send__(name, @handle.pointer, list), :rebalance)
          end
        end

        # Claims have the owner's mark before their records run.
        # @return [Array<Position>]
        def announce
          @fresh = (@fresh + @claims.claim).select { |one| @claims.own?(one) }
          return [] if @fresh.empty?
          commit(@fresh)
          fresh, @fresh = @fresh, []
          fresh
        rescue LostError
          [] # an event says which
        end

        # @raise [LostError, Error]
        def await_commit(queue)
          limit = [@engine.settings.timeout, COMMIT].min
          start = Timeout.now
          until (done = @handle.event(queue, Handle::SLICE) { |event| check_commit(event) })
            next unless @wake_up.abandoned? || Timeout.left(limit, start).zero?
            raise Errors.of(Errors::TIMED_OUT, :commit, nil, resource: @group)
          end
          done
        end

        # @return [true]
        # @raise [LostError, Error]
        def check_commit(event)
          code = Functions.event_error(event)
          return true if code.zero?
          raise Errors.of(code, :commit, Functions.event_error_string(event), resource: @group)
        end

        def leave
          start = Timeout.now
          Errors.check(Functions.consumer_close_queue(@handle.pointer, @queue), :leave)
          until Functions.consumer_closed(@handle.pointer) == 1
            @handle.event(@queue, 0.01) { |event| serve_end(event) || true }
            break if @wake_up.abandoned? || Timeout.left(CLOSE, start).zero?
          end
        ensure
          @claims.drop(partitions)
          Functions.queue_destroy(@queue)
          @handle.close
        end

        def serve_end(event)
          return unless Functions.event_type(event) == REBALANCE
          list = PartitionList.read(Functions.event_topic_partition_list(event)).map(&:partition)
          return answer(:incremental_assign, []) if Functions.event_error(event) == ASSIGN
          answer(:incremental_unassign, @claims.withdraw(list))
        end
      end
    end
  end
end
