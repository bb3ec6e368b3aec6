# frozen_string_literal: true

require "securerandom"

module Godwit
  module Work
    module Kafka
      # A consumer class of this process in its group: a handle of librdkafka, and the partitions
      # that the group assigned to it.
      #
      # **Threads**: that of a Runner's coordinator; any thread may call {#commit} and {#close}.
      # @private
      class Membership
        ASSIGN = -175
        REBALANCE = 0x10 # librdkafka's number of a rebalance event
        ALL = [0].pack("V").freeze # written to the pipe: the runner checks all partitions
        FENCED = [82, 111].freeze # the codes FENCED_INSTANCE_ID and UNRELEASED_INSTANCE_ID
        CLOSE = 5 # seconds that leaving the group may take

        # @param starts [Hash{Integer => Integer}] where the group begins in partitions without a
        #   commit
        # @param wake_up [WakeUp] to whose pipe librdkafka writes when records or events have come
        def initialize(engine, group, topic, starts, wake_up)
          @engine = engine
          @group = group
          @topic = topic
          @wake_up = wake_up
          @owner = SecureRandom.hex(6)
          @mark = engine.settings.static_mark(topic.name) || @owner
          @arrivals = Arrivals.new(engine, group, @mark, @owner, starts)
          @claims = {}
          @arriving, @unmarked, @ready = [], [], []
          @lock = Mutex.new
          subscribe
          @commits = Commits.new(@handle, group, wake_up)
        end

        attr_reader :topic
        # @return [String] this member's name in {Position#member}; constant for a static member
        attr_reader :mark

        # Serves the group's events, and returns this member's {Share}.
        def share
          nil while @handle.event(@queue, 0) { |event| serve(event) || true }
          problem, @problem = @problem, nil
          raise problem if problem
          raise @commits.lost if @commits.lost && @claims.any?
          assign
          go_back if @leaving.nil? # not during a rebalance, see Claim#go_on
          commit_marks
          seek
          claims, @ready = @ready, []
          kept = @claims.transform_values { |one| one.position.generation }
          surplus = @leaving.to_a.map(&:partition) & kept.keys
          Share.new(claims, surplus, kept, paused? ? kept.keys : [])
        end

        # @return [Array<Block>]
        def fetch(position, offset, bytes)
          raise LostError.of(@topic, position.partition) unless own?(position)
          @claims[position.partition].fetch(offset, bytes)
        end

        # Commits positions, without outputs.
        # @param positions [Array<Position>]
        def commit(positions, owned: true, noted: {})
          @commits.write(entries(positions, owned, noted))
        end

        # @return [Outputs] the runner's outputs
        def outputs = @wake_up.outputs
        # (see Commits#refused)
        def refused(error, start) = @commits.refused(error, start)

        # @return [Array<PartitionList::Entry>] to commit
        # @raise [LostError] for a partition that this member no longer has
        def entries(positions, owned = true, noted = {})
          positions.map do |one|
            raise LostError.of(@topic, one.partition) unless own?(one)
            text = CommitText.new(owner: (@owner if owned), crashes: one.crashes,
              crashed_at: one.crashed_at, noted: noted[one.partition],
              seek: @claims[one.partition].seek, state: one.state)
            PartitionList::Entry.new(@topic.name, one.partition, one.watermark, text.dump)
          end
        end

        # Gives partitions up after their last commit. The group gets the partitions of a revocation
        # once the last of them is given up.
        # @param positions [Array<Position>]
        # @raise [BrokerError] if the error is retriable, the member still has the partitions
        def release(positions)
          own = positions.select { |one| own?(one) }.map { |one| @claims[one.partition].position }
          commit(own, owned: false) if own.any?
          give_away(own)
        rescue Error => error
          give_away(own) unless error.is_a?(BrokerError) && error.retriable?
          raise
        end

        # Commits the offset of the record that runs next, together with the committed position.
        def note(position, offset)
          raise LostError.of(@topic, position.partition) unless own?(position)
          commit([@claims[position.partition].position], noted: {position.partition => offset})
        end

        # Leaves the group. A runner and {KafkaEngine#close} may call this at the same time.
        def close = @lock.synchronize { leave unless @handle.closed? }

        # @yieldparam metadata [FFI::Pointer] of the group, for a transaction
        def metadata
          metadata = Functions.consumer_group_metadata(@handle.pointer)
          yield metadata
        ensure
          Functions.consumer_group_metadata_destroy(metadata) if metadata
        end

        # Stores the positions that a commit has written.
        def committed(positions)
          positions.each { |one| @claims[one.partition]&.position = one.dup }
        end

        def inspect = "#<#{self.class} #{@group} #{@topic.name}>"

        private

        # Joins the group. For a static member the group shows the `client.id` of the member's first
        # process, also after a restart: so this `client.id` has no process id.
        def subscribe
          client = "godwit #{(@mark == @owner) ? Process.pid : 0} #{@mark} #{@topic.name}"
          settings = @engine.settings.consumer(@group, @topic.partitions, client, @topic.name)
          @handle = Handle.new(Handle::CONSUMER, settings) do |conf|
            Functions.conf_set_events(conf, REBALANCE | Handle::ERROR)
          end
          Functions.poll_set_consumer(@handle.pointer)
          @queue = Functions.queue_get_consumer(@handle.pointer)
          Functions.queue_io_event_enable(@queue, @wake_up.writer.fileno, ALL, ALL.bytesize)
          PartitionList.with([PartitionList::Entry.new(@topic.name)]) do |list|
            code = Functions.subscribe(@handle.pointer, list)
            raise Errors.of(code, :join, nil, resource: @group) unless code.zero?
          end
        rescue
          @handle&.close
          raise
        end

        def give_away(positions)
          positions.each { |one| @claims.delete(one.partition)&.close }
          finish_revocation
        end

        def own?(one) = @claims[one.partition]&.position&.generation == one.generation

        def serve(event)
          return error(event) unless Functions.event_type(event) == REBALANCE
          list = PartitionList.read(Functions.event_topic_partition_list(event))
          @arrivals.close
          return arrive(list) if Functions.event_error(event) == ASSIGN
          names = list.map(&:partition)
          @arriving.reject! { |one| names.include?(one.partition) }
          @leaving = list.select { |one| @claims.key?(one.partition) }
          lost = Functions.assignment_lost(@handle.pointer) == 1
          # The Runner does not know the partitions in @unmarked yet, so it cannot release them.
          (lost ? names : names & @unmarked.map(&:partition)).each { |one| drop(one) }
          finish_revocation
        end

        # Stores partitions that the group has assigned. The member answers the group before the
        # positions of these partitions are known.
        def arrive(list)
          @arriving += list
          @unanswered = true
        end

        # Stores an error, such as that of an unreachable broker: {#share} raises it once.
        def error(event)
          code = Functions.event_error(event)
          return @problem = fenced if FENCED.include?(@handle.fatal&.first)
          @problem = Errors.of(code, :consume, Functions.event_error_string(event),
            resource: @group, fatal: Functions.event_error_is_fatal(event) == 1)
        end

        # @return [ClosedError] no LostError: a runner that joined again would end the other process
        def fenced
          ClosedError.new("another process is in group #{@group.inspect} with the same " \
            "instance: give each process an instance: of its own")
        end

        # Answers a revocation once all its partitions are given up: the group waits for the answer.
        def finish_revocation
          return if @leaving.nil? || @leaving.any? { |one| @claims.key?(one.partition) }
          unassign(@leaving)
          @leaving = nil
        end

        def unassign(entries)
          PartitionList.with(entries) do |list|
            Errors.check(Functions.incremental_unassign(@handle.pointer, list), :release)
          end
        end

        # Begins to read the partitions whose positions are known. The next call tries the other
        # partitions again: those that failed, and those behind an open transaction.
        def assign
          begin_reading([]) if @unanswered
          @unanswered = false
          return if @arriving.empty?
          positions = @arrivals.positions(@arriving) { refresh(@arriving) }
          return if positions.empty?
          begin_reading(positions)
          known = positions.map(&:partition)
          @arriving.reject! { |one| known.include?(one.partition) }
          @unmarked.concat(positions)
        end

        # Commits this process as the owner of new partitions. Then the Runner gets the partitions.
        def commit_marks
          return if @unmarked.empty?
          commit(@unmarked)
          @ready.concat(@unmarked)
          @unmarked = []
        end

        # Removes a partition that the group revoked before the Runner got it.
        def drop(partition)
          @claims.delete(partition)&.close
          [@unmarked, @ready].each { |all| all.reject! { |one| one.partition == partition } }
        end

        # Moves claims whose offset is not in the log to the log's start.
        def go_back
          @claims.each_value.select(&:stopped_at).each do |claim|
            first = claim.go_on
            @unmarked << move(claim, first) if first
          end
        end

        # Moves claims to the offsets that an operator has set for the group. The Runner gets the
        # newest position.
        def seek
          @claims.each_value do |claim|
            seek = @engine.state["seek", @group, @topic.name, claim.position.partition] or next
            next if claim.seek == seek["id"] || claim.stopped_at
            position = move(claim, seek["offset"])
            claim.seek = seek["id"]
            @ready.reject! { |one| one.partition == position.partition }
            @ready << position
          end
        end

        # @return [Position]
        def move(claim, offset)
          claim.move(@arrivals.moved(claim.position, offset))
          claim.position.dup
        end

        # @return [Boolean] whether an operator has paused the topic in this group
        def paused? = !@engine.state["pause", @group, @topic.name].nil?

        # @return [Work::Topic] with the partitions that the topic has got since this member joined
        def refresh(arriving)
          grown = arriving.any? { |one| one.partition >= @topic.partitions }
          grown ? @topic = @engine.topics.fetch(@topic.name) : @topic
        end

        def begin_reading(positions)
          claims = positions.map do |one|
            Claim.new(@engine, @handle, one, @wake_up.writer, @arrivals.seeks[one.partition])
          end
          entries = positions.map do |one|
            PartitionList::Entry.new(@topic.name, one.partition, one.watermark)
          end
          PartitionList.with(entries) do |list|
            Errors.check(Functions.incremental_assign(@handle.pointer, list), :claim)
          end
          claims.each { |one| @claims[one.position.partition] = one }
          claims = nil
        ensure
          claims&.each(&:close)
        end

        def leave
          commit_end
          @arrivals.close
          begin_reading([]) if @unanswered # librdkafka waits for the answer to each rebalance
          unassign(@leaving) if @leaving
          start = Timeout.now
          return departed = true if @handle.fatal # the group has removed this member
          Errors.check(Functions.consumer_close_queue(@handle.pointer, @queue), :leave)
          until (departed = Functions.consumer_closed(@handle.pointer) == 1)
            @handle.event(@queue, 0.01) { |event| serve_end(event) || true }
            break if @wake_up.abandoned? || Timeout.remaining(CLOSE, start).zero?
          end
        ensure
          @claims.each_value(&:close)
          @claims.clear
          Handle.close_queue(@queue)
          departed ? @handle.close : @handle.forget
        end

        def commit_end
          commit(@claims.each_value.map(&:position), owned: false) if @claims.any?
        rescue Error
          nil # without this commit the next owner may count a crash
        end

        def serve_end(event)
          return unless Functions.event_type(event) == REBALANCE
          list = PartitionList.read(Functions.event_topic_partition_list(event))
          return begin_reading([]) if Functions.event_error(event) == ASSIGN
          unassign(list.select { |one| @claims.key?(one.partition) })
        end
      end
    end
  end
end
