# frozen_string_literal: true

require "securerandom"

module Godwit
  module Work
    module Kafka
      # Commits outputs and positions in one transaction: both or neither. Handlers run outside of
      # it, so it takes a few milliseconds.
      #
      # **Threads**: one at a time, as {Committer} calls it.
      # @private
      class Outputs
        ATTEMPTS = 3 # of a transaction that was aborted
        ABORT = 5 # seconds that an abort waits for the brokers; the next producer aborts, too
        # A step of the transaction failed. `facts` are librdkafka's; nil: a record was not written.
        class Failure < StandardError
          # @return [Error] for the caller
          attr_reader :error
          # @return [Errors::Facts, nil]
          attr_reader :facts

          def initialize(error, facts = nil)
            super(error.message)
            @error = error
            @facts = facts
          end

          # @return [Boolean] whether the same transaction may succeed
          def again? = !facts.nil? && (facts.abortable || facts.fatal) && !lost?

          # @return [Boolean] whether the group has given the partitions to others
          def lost? = LOST.include?(facts&.name)

          # @return [Boolean] whether the producer cannot go on
          def fatal? = !facts.nil? && facts.fatal
        end
        # The other codes of LostError tell that the coordinator has ended a transaction.
        LOST = %w[ILLEGAL_GENERATION UNKNOWN_MEMBER_ID FENCED_INSTANCE_ID _ASSIGNMENT_LOST].freeze
        private_constant :ATTEMPTS, :ABORT, :Failure, :LOST

        # @param settings [Settings]
        def initialize(settings)
          @settings = settings
          @abandoned = false
        end

        # The runner's time is over: no call waits any more.
        def abandon
          @abandoned = true
          @producer&.abandon
        end

        # @param batches [Array<Array>] as {Producer#append}
        # @param commits [Array<Array(Membership, Array<PartitionList::Entry>)>]
        # @return (see Producer#append)
        # @raise [LostError, Error] nothing was written
        def commit(batches, commits)
          attempt = 1
          begin
            transaction(batches, commits)
          rescue Failure => failure
            undo(failure)
            raise failure.error unless failure.again? && attempt < ATTEMPTS
            attempt += 1
            retry
          end
        end

        # @return [nil]
        def close
          @producer&.close
          @producer = nil
        end

        private

        def producer
          @producer ||= begin
            properties = @settings.transactional("godwit-#{SecureRandom.hex(8)}")
            Producer.new(properties, @settings.timeout)
          end.tap { |one| step(one, :init_transactions) }
        rescue Failure => failure
          close
          raise failure.error
        end

        def transaction(batches, commits)
          one = producer
          begin_transaction(one)
          places = append(one, batches)
          commits.each { |member, entries| send_offsets(one, member, entries) }
          step(one, :commit_transaction, limit: nil)
          places
        end

        def begin_transaction(one)
          facts = Errors.read(Functions.begin_transaction(one.handle.pointer)) or return
          raise failure(:begin_transaction, facts)
        end

        def failure(name, facts)
          Failure.new(Errors.of(facts.code, name, facts.text, retriable: facts.retriable,
            fatal: facts.fatal), facts)
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

        # Calls a function in slices. While the outcome of a commit is unknown, it asks again.
        # @param limit [Numeric, nil] seconds; nil: none
        # @raise [Failure]
        def step(one, name, *arguments, limit: @settings.timeout)
          start = Timeout.now
          loop do
            pointer = one.handle.wait(name, one.handle.pointer, *arguments,
              (Handle::SLICE * 1000).to_i)
            facts = Errors.read(pointer) or return
            next if facts.retriable && !@abandoned && Timeout.left(limit, start) != 0
            raise failure(name, facts)
          end
        end

        # Aborts the transaction. Without that, the next producer does it.
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
