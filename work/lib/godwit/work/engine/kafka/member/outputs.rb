# frozen_string_literal: true

require "securerandom"

module Godwit
  module Work
    module Kafka
      # Commits outputs and positions in one transaction: both or neither. Handlers run before the
      # transaction, which takes a few milliseconds.
      #
      # **Threads**: one at a time, as {Committer} calls it.
      # @private
      class Outputs
        ATTEMPTS = 3 # most attempts at a transaction; each failed attempt is aborted
        START = 2 # seconds for which `start` waits for the brokers
        ABORT = 5 # seconds that an abort may take; if it fails, a new producer ends the transaction
        AGAIN = 0.05 # seconds before a step or a refused transaction is repeated
        # A step of the transaction failed. `facts` is an {Errors::Facts}; nil if `append` failed.
        class Failure < StandardError
          attr_reader :facts

          def initialize(error, facts = nil)
            super(error.message)
            @error = error
            @facts = facts
          end

          # @return [Error] for the caller: a LostError only if the group refuses the positions
          def error
            return @error if refused? || !@error.is_a?(LostError)
            BrokerError.new(@error.message, code: facts&.code, name: facts&.name, retriable: true)
          end

          # @return [Boolean] whether the same transaction may succeed. Kafka's transaction
          #   coordinator ends a slow transaction, and may then refuse its records or other steps
          def again?
            return fatal? || @error.is_a?(LostError) if facts.nil?
            (facts.abortable || facts.fatal) && !refused?
          end

          # @return [Boolean] whether the group refuses the positions
          def refused? = REFUSED.include?(facts&.name)

          # @return [Boolean] whether the producer cannot go on
          def fatal? = facts ? facts.fatal : @error.fatal?
        end
        # The errors by which the group refuses positions. The other errors that become a LostError
        # tell that Kafka's transaction coordinator has ended a transaction.
        REFUSED = %w[
          ILLEGAL_GENERATION UNKNOWN_MEMBER_ID STALE_MEMBER_EPOCH FENCED_INSTANCE_ID
        ].freeze

        def initialize(settings)
          @settings = settings
          @abandoned = false
        end

        # Ends all waits, since the runner's time is over.
        def abandon
          @abandoned = true
          @producer&.abandon
        end

        # Finds out whether the brokers have transactions. Other errors, such as a missing right,
        # are ignored here, since a group may have no outputs; the first outputs raise them.
        def start
          producer(START)
          nil
        rescue Error
          nil
        end

        # @param batches [Array<Array>] as {Producer#append}
        # @param commits [Array<Array(Membership, Array<PartitionList::Entry>)>]
        # @return (see Producer#append)
        # @raise [LostError, Error] nothing was written
        def commit(batches, commits)
          attempts = 0
          start = Timeout.now
          begin
            attempts += 1
            transaction(batches, commits)
          rescue Failure => failure
            undo(failure)
            retry if failure.again? && attempts < ATTEMPTS && !@abandoned
            raise failure.error unless failure.refused?
            commits.each { |member, _| member.refused(failure.error, start) }
            sleep AGAIN
            retry
          end
        end

        def close
          @producer&.close
          @producer = nil
        end

        private

        def producer(limit = @settings.timeout)
          @producer ||= begin
            # A new producer with the same id ends the open transaction of the previous one.
            @id ||= "godwit-#{SecureRandom.hex(8)}"
            properties = @settings.transactional(@id)
            Producer.new(properties, @settings.timeout).tap { |one| begin_producing(one, limit) }
          end
        end

        def begin_producing(one, limit)
          step(one, :init_transactions, limit: limit)
        rescue => error
          one.close
          raise error.is_a?(Failure) ? error.error : error
        end

        def transaction(batches, commits)
          one = producer
          begin_transaction(one)
          written = append(one, batches)
          commits.each { |member, entries| send_offsets(one, member, entries) }
          step(one, :commit_transaction, limit: nil)
          written
        end

        def begin_transaction(one)
          facts = Errors.read(Functions.begin_transaction(one.handle.pointer)) or return
          raise Failure.new(facts.to_error(:begin_transaction), facts)
        end

        def append(one, batches)
          one.append(batches)
        rescue Error => error
          raise Failure.new(error)
        end

        def send_offsets(one, member, entries)
          PartitionList.with(entries) do |list|
            member.metadata do |metadata|
              step(one, :send_offsets_to_transaction, list, metadata)
            end
          end
        end

        # Calls a function with short waits until librdkafka knows the outcome, or until the limit.
        # @param limit [Numeric, nil] seconds; nil: no limit
        def step(one, name, *arguments, limit: @settings.timeout)
          start = Timeout.now
          loop do
            pointer = one.handle.wait(name, one.handle.pointer, *arguments,
              (Handle::SHORT * 1000).to_i)
            facts = Errors.read(pointer) or return
            raise Failure.new(facts.to_error(name), facts) if !facts.retriable || @abandoned ||
              Timeout.remaining(limit, start) == 0
            sleep AGAIN
          end
        end

        # Aborts the transaction. If that fails, the next producer aborts it.
        def undo(failure)
          return close if failure.fatal? || @producer.nil?
          step(@producer, :abort_transaction, limit: ABORT)
        rescue Failure
          close
        end
      end
    end
  end
end
