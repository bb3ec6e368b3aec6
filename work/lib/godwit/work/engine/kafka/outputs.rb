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
        # A step of the transaction failed.
        class Failure < StandardError
          # @return [TransactionError, nil] of librdkafka; nil: the records were not written
          attr_reader :step
          # @return [Error] for the caller
          attr_reader :error

          def initialize(error, step = nil)
            super(error.message)
            @error = error
            @step = step
          end
        end
        private_constant :ATTEMPTS, :Failure

        # @param settings [Settings]
        def initialize(settings)
          @settings = settings
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
            again = failure.step ? failure.step.abort || failure.step.fatal : false
            raise failure.error if failure.error.is_a?(LostError) || !again || attempt == ATTEMPTS
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
          problem = TransactionError.take(Functions.begin_transaction(one.handle.pointer))
          raise Failure.new(problem.to_error(:begin), problem) if problem
          places = append(one, batches)
          commits.each { |member, entries| send_offsets(one, member, entries) }
          step(one, :commit_transaction, limit: nil)
          places
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
            pointer = Functions.__send__(name, one.handle.pointer, *arguments,
              (Handle::SLICE * 1000).to_i)
            problem = TransactionError.take(pointer) or return
            next if problem.again && Timeout.left(limit, start) != 0
            raise Failure.new(problem.to_error(name), problem)
          end
        end

        # Aborts the transaction. Without that, the next producer does it.
        def undo(failure)
          return close if failure.step&.fatal
          step(@producer, :abort_transaction)
        rescue Failure
          close
        end
      end
    end
  end
end
