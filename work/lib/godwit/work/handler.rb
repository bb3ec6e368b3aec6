# frozen_string_literal: true

require "godwit/fork_detector"

module Godwit
  module Work
    # Runs records of an assignment in one worker, with a consumer of its own, and tells the
    # assignment what came of each.
    # @private
    class Handler
      # A handler ended its thread, or left it by `throw`.
      class Ended < StandardError; end

      # @param assignment [Assignment]
      # @param client [Client]
      # @param committer [Committer]
      # @param clock [#call] monotonic seconds
      def initialize(assignment, client, committer, clock)
        @assignment = assignment
        @clock = clock
        @client = client
        @committer = committer
        @events = client.events
        @settings = assignment.klass.settings
        @batches = assignment.klass.batches?
        @consumer = assignment.klass.new
        @consumer.invocation = self
      end

      # @param lane [Object] of the assignment
      # @param messages [Array<Message>] it is empty at the end
      def run(lane, messages)
        due = @batches ? run_batch(messages) : run_each(messages)
        ended = true
      ensure
        # A thread that the end of the process stops is no failure of its record.
        unless ended || @assignment.stopped?
          due = failed(messages.first, Ended.new("the handler ended its thread"))
          messages.shift unless due
        end
        @assignment.give_back(lane, messages, due)
      end

      # (see Consumer#produce)
      def produce(topic, *value, **options)
        blocks = @client.encode(topic, *value, **options)
        @outputs << [@batch&.current, blocks]
        blocks.receipts.first
      end

      # (see Consumer#done)
      def done(message)
        return unless @left&.delete(message)
        @assignment.finish(message, take_outputs(message, nil))
        nil
      end

      # (see Consumer#transaction)
      def transaction(&block)
        messages = @batch&.current ? [@batch.current] : @left.dup
        result = @committer.transaction(@assignment, messages, @outputs.map(&:last), &block)
        @outputs = []
        messages.each { |message| @left.delete(message) }
        result
      end

      private

      # @return [Float, nil] when the first of the rest is due again
      def run_each(messages)
        until messages.empty? || @assignment.stopped?
          message = messages.first
          @left = [message]
          error = attempt { @consumer.perform(message) }
          due = @left.any? ? end_record(message, error) : report(error)
          return due if due
          messages.shift
        end
      end

      # Its transaction has finished the record.
      def report(error)
        @events.emit(:error, error: error) if error
        nil
      end

      # @return [Float, nil] when it runs again
      def end_record(message, error)
        return failed(message, error) if error
        @assignment.finish(message, take_outputs(nil))
        nil
      end

      def run_batch(messages)
        @left = messages
        batch = @batch = Batch.new(messages.dup)
        error = attempt { @consumer.consume(batch) }
        return finish_all(messages) unless error
        at = (batch.size == 1) ? 0 : messages.index(batch.current)
        return run_one_by_one(messages) unless at
        @outputs.reject! { |owner, _| owner.equal?(batch.current) }
        finish_all(messages, at)
        fail_first(messages, error)
      end

      # @return [Float, nil] when it runs again
      def fail_first(messages, error)
        due = failed(messages.first, error) if messages.any?
        messages.shift unless due
        due
      end

      def finish_all(messages, count = messages.size)
        outputs = @outputs.map(&:last)
        @outputs = []
        messages.shift(count).each_with_index do |message, index|
          @assignment.finish(message, index.zero? ? outputs : [])
        end
        nil
      end

      def run_one_by_one(messages)
        until messages.empty? || @assignment.stopped?
          due = run_batch([messages.first])
          return due if due
          messages.shift
        end
      end

      # @return [Exception, nil]
      def attempt
        @outputs = []
        forks = ForkDetector::COUNT[0]
        @left.each { |message| raise message.fault if message.fault }
        yield
        nil
      rescue Exception => error # standard:disable Lint/RescueException -- also exit, and throw
        error
      ensure
        # A child that a handler forked must not go on as a worker.
        exit!(0) if forks != ForkDetector::COUNT[0]
      end

      # @param owners [Array<Message, nil>] that a batch had when they were produced
      def take_outputs(*owners)
        taken, @outputs = @outputs.partition { |owner, _| owners.include?(owner) }
        taken.map(&:last)
      end

      # @return [Float, nil] when the record runs again; nil: never
      def failed(message, error)
        @outputs = []
        attempts = @assignment.fail(message)
        @events.emit(:failed, message: message, error: error, attempts: attempts)
        if attempts <= @settings.retries && !error.is_a?(FormatError)
          return @clock.call + delay(attempts)
        end
        bury(message, error, attempts)
        nil
      end

      # Exponential, with jitter of a tenth.
      def delay(attempts)
        least, most = @settings.backoff.min, @settings.backoff.max
        [least * 2**(attempts - 1), most].min * (0.9 + rand / 5)
      end

      def bury(message, error, attempts)
        topic = @assignment.klass.dead_letters
        letter = DeadLetter.make(@client, topic, message, error: error, attempts: attempts,
          group: @assignment.position.group)
        @assignment.finish(message, letter)
        @events.emit(:dead, message: message, error: error, attempts: attempts, topic: topic)
      end
    end
  end
end
