# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Writes a member's commits that have no outputs. During a rebalance the group refuses commits
      # of an older generation, also for partitions that the member keeps: `write` tries them again.
      #
      # **Threads**: any.
      # @private
      class Commits
        # The codes of ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS and
        # STALE_MEMBER_EPOCH.
        REFUSED = [22, 25, 27, 113].freeze
        AGAIN = 0.02 # seconds between two attempts to commit
        WAIT = 5 # seconds that a commit waits for the brokers
        PATIENCE = 3 # most seconds of attempts; they end once a heartbeat finds the session lost
        # Raised when the group has refused a commit.
        class Refused < StandardError
          # @return [Error] for the caller
          attr_reader :error

          def initialize(error)
            super(error.message)
            @error = error
          end
        end

        # @param wake_up [WakeUp] the runner's; `abandon` of this object ends the waits of commits
        def initialize(handle, group, wake_up)
          @handle = handle
          @group = group
          @wake_up = wake_up
        end

        # @return [LostError, nil] the error of a commit that the group has refused, although
        #   librdkafka does not know that the member has lost its partitions
        attr_reader :lost

        # @param entries [Array<PartitionList::Entry>]
        def write(entries)
          start = Timeout.now
          begin
            send_once(entries)
          rescue Refused => refused
            refused(refused.error, start)
            sleep AGAIN
            retry
          end
        end

        # @param error [Error] the group's error
        # @param start [Float] the time of the first attempt
        # @raise [Error] unless the same commit may succeed soon
        def refused(error, start)
          known = Functions.assignment_lost(@handle.pointer) == 1
          return if !known && !@wake_up.abandoned? && Timeout.remaining(PATIENCE, start) > 0
          @lost = error if error.is_a?(LostError) && !known
          raise error
        end

        private

        def send_once(entries)
          @handle.queue do |queue|
            PartitionList.with(entries) do |list|
              code = Functions.commit_queue(@handle.pointer, list, queue, nil, nil)
              raise Errors.of(code, :commit, nil, resource: @group) unless code.zero?
            end
            await(queue)
          end
          nil
        end

        def await(queue)
          start = Timeout.now
          until @handle.event(queue, Handle::SHORT) { |event| check(event) }
            next unless @wake_up.abandoned? || Timeout.remaining(WAIT, start).zero?
            raise Errors.of(Errors::TIMED_OUT, :commit, nil, resource: @group)
          end
        end

        # @return [true]
        def check(event)
          code = Functions.event_error(event)
          return true if code.zero?
          error = Errors.of(code, :commit, Functions.event_error_string(event), resource: @group)
          raise REFUSED.include?(code) ? Refused.new(error) : error
        end
      end
    end
  end
end
