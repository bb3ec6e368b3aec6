# frozen_string_literal: true

require "securerandom"

module Godwit
  module Work
    module Kafka
      # A consumer class of this process in its group: a handle of librdkafka, and the partitions
      # that the group gave to it.
      #
      # **Threads**: the coordinator of a Runner alone, but any may call {#commit} and {#close}.
      # @private
      class Membership
        EVENTS = 0x10 | Handle::ERROR # rebalance
        REBALANCE = 0x10
        ASSIGN = -175
        CLOSE = 2 # seconds for leaving the group
        NONE = -1001 # instead of an offset
        private_constant :EVENTS, :REBALANCE, :ASSIGN, :CLOSE, :NONE

        # @param engine [KafkaEngine]
        # @param group [String]
        # @param topic [Work::Topic]
        # @param starts [Hash{Integer => Integer}] where the group begins in partitions without a
        #   commit
        # @param pipe [IO] that is written to when there are records or events
        def initialize(engine, group, topic, starts, pipe)
          @engine = engine
          @group = group
          @topic = topic
          @starts = starts
          @pipe = pipe
          @mark = SecureRandom.hex(6)
          @claims = {}
          @arriving = @wanted = nil
          @leaving = []
          @generation = 0
          @lock = Mutex.new
          open
        end

        # @return [String]
        attr_reader :group
        # @return [Work::Topic]
        attr_reader :topic
        # @return [String] names it in {Position#member}
        attr_reader :mark

        # Serves the group's events.
        # @return [Share]
        # @raise [Error, LostError]
        def share
          nil while @handle.event(@queue, 0) { |event| serve(event) || true }
          problem, @problem = @problem, nil
          raise problem if problem
          claims = follow_seek + claim
          kept = @claims.transform_values { |one| one.position.generation }
          surplus = @leaving.map(&:partition) & kept.keys
          Share.new(claims, surplus, kept, @engine.paused?(@group, @topic) ? kept.keys : [])
        end

        # @return [Array<Block>]
        # @raise [LostError, Error]
        def fetch(partition, offset, bytes) = claim_of(partition).fetch(offset, bytes)

        # Commits without outputs.
        # @param positions [Array<Position>]
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
            raise LostError.of(@topic, one.partition) unless own?(one)
            text = CommitText.new(owner: (@mark if owned), crashes: one.crashes,
              crashed_at: one.crashed_at, noted: noted[one.partition],
              seek: @claims[one.partition].seek, state: one.state)
            PartitionList::Entry.new(@topic.name, one.partition, one.watermark, text.dump)
          end
        end

        # Gives partitions up after their last commit. The group has those of a revocation when it
        # has all of them.
        # @param positions [Array<Position>]
        def release(positions)
          own = positions.select { |one| own?(one) }
          commit(own, owned: false) if own.any?
        ensure
          own.each { |one| @claims.delete(one.partition)&.close }
          unassign if @leaving.none? { |entry| @claims.key?(entry.partition) }
        end

        # Leaves the group. A runner and {KafkaEngine#close} may call it at the same time.
        # @return [nil]
        def close = @lock.synchronize { leave unless @handle.closed? }

        # @yieldparam metadata [FFI::Pointer] of the group, for a transaction
        def metadata
          metadata = Functions.consumer_group_metadata(@handle.pointer)
          yield metadata
        ensure
          Functions.consumer_group_metadata_destroy(metadata) if metadata
        end

        # The commit of these positions is done.
        def committed(positions)
          positions.each { |one| @claims[one.partition]&.position = one.dup }
        end

        # @return [String]
        def inspect = "#<#{self.class} #{@group} #{@topic.name}>"

        private

        def own?(one) = @claims[one.partition]&.position&.generation == one.generation

        def open
          client = "godwit #{Process.pid} #{@mark} #{@topic.name}"
          properties = @engine.settings.consumer(@group, @topic.partitions, client)
          @handle = Handle.new(Handle::CONSUMER, properties) do |conf|
            Functions.conf_set_events(conf, EVENTS)
          end
          Functions.poll_set_consumer(@handle.pointer)
          @queue = Functions.queue_get_consumer(@handle.pointer)
          Functions.queue_io_event_enable(@queue, @pipe.fileno, [0].pack("V"), 4)
          PartitionList.with([PartitionList::Entry.new(@topic.name)]) do |list|
            code = Functions.subscribe(@handle.pointer, list)
            raise Errors.of(code, :join, nil, resource: @group) unless code.zero?
          end
        end

        def serve(event)
          return error(event) unless Functions.event_type(event) == REBALANCE
          list = PartitionList.read(Functions.event_topic_partition_list(event))
          if Functions.event_error(event) == ASSIGN
            @arriving = list
          elsif Functions.assignment_lost(@handle.pointer) == 1
            list.each { |one| @claims.delete(one.partition)&.close }
            @leaving = list
            unassign
          else
            revoke(list)
          end
        end

        def revoke(list)
          @leaving = list
          unassign if list.none? { |one| @claims.key?(one.partition) }
        end

        # Such as a broker that is away: {#share} raises it once, and goes on at the next call.
        def error(event)
          code = Functions.event_error(event)
          @problem = Errors.of(code, :consume, Functions.event_error_string(event),
            resource: @group, fatal: Functions.event_error_is_fatal(event) == 1)
        end

        def unassign
          return if @leaving.empty?
          PartitionList.with(@leaving) do |list|
            Errors.check(Functions.incremental_unassign(@handle.pointer, list), :release)
          end
          @leaving = []
        end

        # Claims the partitions that the group has given, once their positions are known.
        # @return [Array<Position>]
        def claim
          return [] unless @arriving
          return claim_none if @arriving.empty?
          @answer ||= @engine.groups.ask_committed(@group, @arriving.map { |one|
            PartitionList::Entry.new(one.topic, one.partition)
          })
          found = @answer.take or return []
          @answer = nil
          arriving, @arriving = @arriving, nil
          refresh(arriving)
          positions = found.map { |entry| position(entry) }
          begin_reading(positions)
          commit(positions)
          positions
        end

        # Partitions that it has, and that an operator has sent elsewhere.
        # @return [Array<Position>]
        def follow_seek
          seek = @engine.seek_of(@group, @topic) or return []
          moved = @claims.each_value.select do |claim|
            claim.seek != seek["id"] && seek["offsets"].key?(claim.position.partition.to_s)
          end
          moved.map do |claim|
            claim.seek = seek["id"]
            claim.move(sought(claim.position, seek["offsets"]))
            claim.position.dup
          end
        end

        def sought(one, offsets)
          Position.new(@group, @topic, one.partition, @mark, @generation += 1,
            offsets.fetch(one.partition.to_s), nil, 0, nil, 0, nil)
        end

        def claim_none
          @arriving = nil
          begin_reading([])
          []
        end

        # @param entry [PartitionList::Entry]
        # @return [Position]
        def position(entry)
          text = CommitText.parse(entry.metadata)
          watermark = (entry.offset < 0) ? @starts.fetch(entry.partition, 0) : entry.offset
          one = Position.new(@group, @topic, entry.partition, @mark,
            @generation += 1, watermark, text.state, text.crashes, text.noted, 0, text.crashed_at)
          crashed(one) if text.owner && text.owner != @mark
          one
        end

        # Its owner has ended without a release: see Groups::CRASH.
        def crashed(one)
          again = one.crashes >= Assignment::CRASHES
          same = again || one.crashed_at == one.watermark
          one.crashed_at = one.watermark unless again
          unread = one.watermark < @engine.end_of(@topic, one.partition)
          one.crashes = same ? one.crashes + 1 : 1
          one.crashes = 0 unless unread
        end

        def refresh(arriving)
          return if arriving.all? { |one| one.partition < @topic.partitions }
          @topic = @engine.topics.fetch(@topic.name)
        end

        def begin_reading(positions)
          positions.each do |one|
            @claims[one.partition] = Claim.new(@engine, @handle, one, @pipe)
          end
          entries = positions.map do |one|
            PartitionList::Entry.new(@topic.name, one.partition, one.watermark)
          end
          PartitionList.with(entries) do |list|
            Errors.check(Functions.incremental_assign(@handle.pointer, list), :claim)
          end
        end

        def claim_of(partition)
          @claims[partition] || raise(LostError.of(@topic, partition))
        end

        # @raise [LostError, Error]
        def await_commit(queue)
          done = @handle.event(queue, @engine.settings.timeout) do |event|
            code = Functions.event_error(event)
            next true if code.zero?
            raise Errors.of(code, :commit, Functions.event_error_string(event), resource: @group)
          end
          raise Errors.of(Errors::TIMED_OUT, :commit, @handle.cause, resource: @group) unless done
        end

        def leave
          begin
            commit(@claims.each_value.map(&:position), owned: false) if @claims.any?
          rescue Error
            nil # the next owner counts a crash at most
          end
          @claims.each_value(&:close)
          @claims.clear
          start = Timeout.now
          Errors.check(Functions.consumer_close_queue(@handle.pointer, @queue), :leave)
          until Functions.consumer_closed(@handle.pointer) == 1 || Timeout.left(CLOSE, start).zero?
            @handle.event(@queue, 0.01) { |event| serve_end(event) || true }
          end
          Functions.queue_destroy(@queue)
          @handle.close
        end

        def serve_end(event)
          return unless Functions.event_type(event) == REBALANCE
          @leaving = PartitionList.read(Functions.event_topic_partition_list(event))
          (Functions.event_error(event) == ASSIGN) ? begin_reading([]) : unassign
        end
      end
    end
  end
end
