# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Finds a group's position in each partition that a member gets: it reads the group's commits,
      # and counts the processes that crashed before they released the partition.
      #
      # **Threads**: the coordinator of a Runner alone.
      # @private
      class Arrivals
        PATIENCE = 30 # seconds to wait for positions; an open transaction should end sooner

        # @param mark [String] the member's id in a Position
        # @param owner [String] the same member's id in the commits
        # @param starts [Hash{Integer => Integer}] where the group begins in partitions without a
        #   commit
        def initialize(engine, group, mark, owner, starts)
          @engine = engine
          @group = group
          @mark = mark
          @owner = owner
          @starts = starts
          @generation = 0
          @seeks = {}
        end

        # @return [Hash{Integer => String}] partition => id of an operator's seek, from the commit
        attr_reader :seeks

        # @param list [Array<PartitionList::Entry>] all calls before {#close} pass the same list
        # @yieldreturn [Work::Topic] when positions are known
        # @return [Array<Position>] the known positions; a position behind an open transaction is
        #   not known yet
        # @raise [Error] of the brokers, or after 30 s without a position; the next call tries again
        def positions(list)
          @since ||= Timeout.now
          found = committed(list)
          known = found ? read(found) { yield } : []
          forget if found
          known.any? ? @since = nil : check_time(list)
          known
        rescue Error
          forget
          raise
        end

        # @return [Position] the position `one` at another offset, without its committed state
        def moved(one, offset)
          Position.new(@group, one.topic, one.partition, @mark, @generation += 1, offset, nil, 0,
            nil, 0, nil)
        end

        # Ends the request for positions.
        def close
          forget
          @since = nil
        end

        private

        def forget
          @answer&.close
          @answer = nil
        end

        # @return [Array<Position>]
        def read(found)
          wrong = found.map(&:error).find { |code| !code.zero? && !Errors.retriable?(code) }
          raise Errors.of(wrong, :claim, nil, resource: @group) if wrong
          topic = yield
          found.select { |one| one.error.zero? }.map { |entry| position(topic, entry) }
        end

        # @return [Array<PartitionList::Entry>, nil] nil: the brokers have not answered yet
        def committed(list)
          @answer ||= @engine.groups.request_committed(@group, list.map { |one|
            PartitionList::Entry.new(one.topic, one.partition)
          })
          @answer.receive
        end

        # @raise [BrokerError] when the brokers have returned no positions for 30 s
        def check_time(list)
          return if Timeout.remaining(PATIENCE, @since) > 0
          @since = nil
          names = list.map(&:partition).sort.join(", ")
          raise BrokerError.new("claim: for #{PATIENCE} s the brokers have kept back the " \
            "positions of group #{@group} in partitions #{names} of topic " \
            "#{list.first.topic}, as for a transaction that does not end: look for one with " \
            "kafka-transactions.sh find-hanging, and end it with its command abort",
            operation: :claim, retriable: true)
        end

        def position(topic, entry)
          text = CommitText.parse(entry.metadata)
          watermark = (entry.offset < 0) ? @starts.fetch(entry.partition, 0) : entry.offset
          one = Position.new(@group, topic, entry.partition, @mark, @generation += 1, watermark,
            text.state, text.crashes, text.noted, 0, text.crashed_at)
          @seeks[one.partition] = text.seek
          crashed(one) if text.owner && text.owner != @owner
          one
        end

        # Counts a crash: the partition's owner has ended without a release (see Groups::CRASH).
        def crashed(one)
          again = one.crashes >= Assignment::CRASHES
          same = again || one.crashed_at == one.watermark
          one.crashed_at = one.watermark unless again
          unread = one.watermark < @engine.cluster.finish(one.topic.name, one.partition)
          one.crashes = same ? one.crashes + 1 : 1
          one.crashes = 0 unless unread
        end
      end
    end
  end
end
