# frozen_string_literal: true

require "godwit/fork_detector"

module Godwit
  module Work
    # Runs records of an assignment in one worker, with its own instance of the consumer class, and
    # reports each record's result to the assignment.
    # @private
    class Handler
      # The error of a record whose handler ended its thread, or left by `throw`.
      class Ended < StandardError; end

      # @param clock [#call] returns monotonic seconds
      def initialize(assignment, client, committer, clock)
        @assignment = assignment
        @clock = clock
        @client = client
        @committer = committer
        @events = client.events
        @settings = assignment.klass.settings
        @batches = assignment.klass.batches?
        @by_lambda = @settings.parallel.respond_to?(:call)
        @outputs = []
      end

      attr_reader :assignment

      # @return [Array<Message>, nil] the unfinished records of the handler's current call; each
      #   call has another Array
      def running = @unfinished

      # @param lane [Lanes::Lane] the assignment's lane from which the worker got the messages
      # @param messages [Array<Message>] in order; those that do not run go back to the lane
      # @return [Float, nil] monotonic time at which the first remaining record runs again, or nil
      def run(lane, messages)
        @unfinished = []
        if !@batches
          due = run_each(messages)
        elsif !@assignment.halted?
          due = run_batch(messages)
        end
        ended = true
        due
      ensure
        begin
          due = abandon(messages) unless ended
        ensure
          @assignment.give_back(lane, messages, due)
        end
      end

      def inspect = "#<#{self.class} #{@assignment.inspect}>"

      # (see Consumer#produce)
      def produce(topic, *value, **options)
        finished if @unfinished.empty? || (@batch&.current && !@unfinished.include?(@batch.current))
        raise LostError.of(@assignment.topic, @assignment.partition) if @assignment.lost?
        blocks = @client.encode(topic, *value, **options)
        @outputs << [@batch&.current, blocks]
        blocks.receipts.first
      end

      # (see Consumer#done)
      def done(message)
        return unless @unfinished.include?(message)
        Thread.handle_interrupt(NEVER) do
          @assignment.finish([message], remove_outputs([message]))
          @unfinished.delete(message)
        end
        nil
      end

      # (see Consumer#transaction)
      def transaction(*records, &block)
        records = records.first.to_a if records.size == 1 && records.first.respond_to?(:to_a)
        records = [@batch ? @batch.current : @unfinished.first].compact if records.empty?
        if records.empty? && @unfinished.any?
          raise Godwit::Errors.of(StateError, :transaction, "which records? write " \
            "transaction(*messages) outside of batch.each")
        end
        records = @unfinished & records # `&` retains the order of @unfinished
        finished if records.empty?
        outputs = -> { remove_outputs(records) }
        # Defers a Timeout: between the commit and `delete` it would let the records run again.
        Thread.handle_interrupt(NEVER) do
          @committer.transaction(@assignment, records, outputs, &block)
            .tap { records.each { |message| @unfinished.delete(message) } }
        end
      end

      # (see Consumer#pause)
      def pause(seconds)
        seconds = Consumer.check_seconds(:pause, "seconds", seconds)
        @assignment.pause(:consumer, seconds ? (@clock.call + seconds).to_f : true)
        nil
      end

      # (see Consumer#resume)
      def resume
        @assignment.resume(:consumer)
        nil
      end

      private

      def finished
        raise Godwit::Errors.of(StateError, :produce, "this record is finished: call produce " \
          "before the end of transaction, or before done")
      end

      # Fails the record whose handler ended its thread, unless the process ends: that end is no
      # failure of the record.
      # @return [Float, nil] monotonic time at which the first remaining record runs again, or nil
      def abandon(messages)
        messages.shift if @unfinished.empty? # the handler has finished the record
        return if @assignment.stopped? || @unfinished.empty?
        due = failed(messages.first, Ended.new("the handler ended its thread"))
        messages.shift unless due
        due
      end

      # @return [Float, nil] monotonic time at which the first remaining record runs again, or nil
      def run_each(messages)
        until messages.empty? || @assignment.halted?
          message = messages.first
          @unfinished = [message]
          error = attempt { (@consumer || consumer).perform(message) }
          if @unfinished.empty?
            report(error) # a transaction in the handler has finished the record
          elsif error
            due = failed(message, error)
            return due if due
          else
            @assignment.finish(@unfinished, remove_outputs(@unfinished))
          end
          messages.shift
        end
      end

      def report(error)
        @events.emit(:error, error: error) if error
        nil
      end

      def run_batch(messages)
        @unfinished = messages
        batch = @batch = Batch.new(messages.dup)
        error = attempt { consumer.consume(batch) }
        return finish_all(messages) unless error
        return report(error) if messages.empty?
        at = (batch.size == 1) ? 0 : messages.index(batch.failed(error))
        return run_one_by_one(messages) unless at
        @outputs.reject! { |owner, _| !messages.first(at).include?(owner) }
        finish_all(messages, at)
        fail_first(messages, error)
      end

      # @return [Float, nil] the monotonic time at which the first record runs again; nil: never
      def fail_first(messages, error)
        due = failed(messages.first, error)
        messages.shift unless due
        due
      end

      def finish_all(messages, count = messages.size)
        outputs = @outputs.map(&:last)
        @outputs = []
        @assignment.finish(messages.shift(count), outputs)
        nil
      end

      def run_one_by_one(messages)
        until messages.empty? || @assignment.halted?
          due = run_batch([messages.first])
          @unfinished = messages
          return due if due
          messages.shift
        end
      end

      # Makes the consumer's instance. If its constructor raises, the record fails.
      def consumer
        @consumer ||= @assignment.klass.new.tap { |one| one.invocation = self }
      end

      def attempt
        @outputs = [] unless @outputs.empty?
        forks = ForkDetector::COUNT[0]
        @unfinished.each { |message| raise message.fault if message.fault } if @by_lambda
        yield
        nil
      rescue Exception => error # standard:disable Lint/RescueException -- also exit, and throw
        error
      ensure
        # A child process that a handler forked ends here: it must not run as a worker.
        exit!(0) if forks != ForkDetector::COUNT[0]
      end

      # Removes the outputs of these records from @outputs. If no other record is unfinished, this
      # method also removes the outputs that belong to no single record.
      # @return [Array<Blocks>]
      def remove_outputs(records)
        return @outputs if @outputs.empty?
        last = (@unfinished - records).empty?
        found, @outputs = @outputs.partition { |owner, _| owner ? records.include?(owner) : last }
        found.map(&:last)
      end

      # @return [Float, nil] the monotonic time at which the record runs again; nil: never
      def failed(message, error)
        @outputs = []
        return @clock.call if @assignment.lost? # the partition's new owner counts the attempts
        attempts = @assignment.fail(message)
        @events.emit(:failed, message: message, error: error, attempts: attempts)
        if attempts <= @settings.retries && !error.is_a?(FormatError)
          return @clock.call + delay(attempts)
        end
        bury(message, error, attempts)
      end

      # The delay doubles with each retry, and varies by a tenth at random. A back-off that begins
      # with 0 makes the first retry at once, and the second after one second.
      def delay(attempts)
        least, most = @settings.backoff.begin, @settings.backoff.end
        grown = (least.zero? && attempts > 1) ? 2**(attempts - 2) : least * 2**(attempts - 1)
        [grown, most].min * (0.9 + rand / 5)
      end

      # @return [Float, nil] the monotonic time of a retry when no dead letter can be written now
      def bury(message, error, attempts)
        DeadLetter.bury(@client, @assignment, message, error: error, attempts: attempts) do |found|
          @assignment.finish([message], found)
        end
        nil
      rescue Error => problem
        @events.emit(:error, error: problem)
        @clock.call + delay(attempts)
      end
    end
  end
end
