# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # The partitions that the group has given to a {Membership}. Each is claimed when its position
      # is known: a position behind an open transaction is not, and the others do not wait for it.
      #
      # **Threads**: the coordinator of a Runner alone.
      # @private
      class Claims
        # @param engine [KafkaEngine]
        # @param handle [Handle]
        # @param group [String]
        # @param mark [String] of the member
        # @param topic [Work::Topic]
        # @param starts [Hash{Integer => Integer}] where the group begins in partitions without a
        #   commit
        # @param pipe [IO] that gets the ids of partitions with records
        def initialize(engine, handle, group, mark, topic, starts, pipe)
          @engine = engine
          @handle = handle
          @group = group
          @mark = mark
          @topic = topic
          @starts = starts
          @pipe = pipe
          @claims = {}
          @arriving = []
          @generation = 0
        end

        # @return [Work::Topic]
        attr_reader :topic

        # @param partition [Integer]
        # @return [Claim, nil]
        def [](partition) = @claims[partition]

        # @return [Array<Claim>]
        def all = @claims.values

        # @param position [Position]
        # @return [Boolean] whether the claim of this position stands
        def own?(position)
          self[position.partition]&.position&.generation == position.generation
        end

        # @param partitions [Array<Integer>] that the group has given
        def arrive(partitions)
          forget_answer
          @arriving |= partitions
        end

        # @param partitions [Array<Integer>] that the group takes away
        # @return [Array<Integer>] those that are claimed
        def withdraw(partitions)
          forget_answer
          @arriving -= partitions
          partitions & @claims.keys
        end

        # @param partitions [Array<Integer>]
        def drop(partitions) = partitions.each { |one| @claims.delete(one)&.close }

        # Claims the partitions whose positions have come, and begins to read them.
        # @return [Array<Position>]
        # @raise [Error]
        def claim
          return [] if @arriving.empty?
          @answer ||= @engine.groups.ask_committed(@group, entries(@arriving))
          found = @answer.take or return []
          forget_answer
          known = found.reject { |one| Errors.retriable?(one.error) } # the others: asked again
          wrong = known.find { |one| !one.error.zero? }
          raise Errors.of(wrong.error, :claim, nil, resource: @group) if wrong
          @arriving -= known.map(&:partition)
          known.any? ? read(known) : []
        end

        # Moves to where an operator has sent the group.
        # @return [Array<Position>] of the partitions that have moved
        # @raise [Error]
        def follow_seek
          seek = @engine.seek_of(@group, @topic) or return []
          moved = all.select do |claim|
            claim.seek != seek["id"] && seek["offsets"].key?(claim.position.partition.to_s)
          end
          moved.map do |claim|
            claim.seek = seek["id"]
            offset = seek["offsets"].fetch(claim.position.partition.to_s)
            claim.move(new_position(claim.position.partition, offset, CommitText.parse(nil)))
            claim.position.dup
          end
        end

        private

        def forget_answer
          @answer&.close
          @answer = nil
        end

        def entries(partitions)
          partitions.map { |number| PartitionList::Entry.new(@topic.name, number) }
        end

        # @param found [Array<PartitionList::Entry>]
        # @return [Array<Position>]
        def read(found)
          if found.any? { |one| one.partition >= @topic.partitions } # it grew
            @topic = @engine.topics.fetch(@topic.name)
          end
          claimed = found.map { |entry| make(entry) }
          from = claimed.map do |one|
            PartitionList::Entry.new(@topic.name, one.partition, one.watermark)
          end
          PartitionList.with(from) do |list|
            Errors.check(Functions.incremental_assign(@handle.pointer, list), :claim)
          end
          claimed
        end

        def make(entry)
          text = CommitText.parse(entry.metadata)
          offset = (entry.offset < 0) ? @starts.fetch(entry.partition, 0) : entry.offset
          position = new_position(entry.partition, offset, text)
          crashed(position) if text.owner && text.owner != @mark
          claim = @claims[entry.partition] = Claim.new(@engine, @handle, position, @pipe)
          # A commit of another program, or of an operator, is newer than any seek.
          claim.seek = text.known? ? text.seek : @engine.seek_of(@group, @topic)&.fetch("id")
          position.dup
        end

        def new_position(partition, offset, text)
          Position.new(@group, @topic, partition, @mark, @generation += 1, offset, text.state,
            text.crashes, text.noted, 0, text.crashed_at)
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
      end
    end
  end
end
