# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    class Reader
      # How a reader receives messages: one waiting thread leads (it waits on the socket), the
      # others follow (they wait for the leader).

      private

      # @return [Record, nil] nil after close
      def next_record
        take(nil)
      rescue ClosedError, ContextTerminatedError
        nil
      end

      # @return [Record, nil] nil when time is up
      def take(finish)
        loop do
          # In a forked child, pending records are the parent's.
          found = @lock.synchronize { from_pending } unless forked?
          return found if found.is_a?(Record)
          next @on_foreign&.call(found) if found
          return unless fetch(finish)
        end
      end

      # Needs the lock, so that each writer's records are counted in order.
      # @return [Record, Array<String>, nil] an Array is foreign
      def from_pending
        while (message = @pending.shift)
          @arrived.signal if @waiting.positive? && @pending.any?
          record = @writers.take(message)
          return record || message if !record || !@filter || @filter.fits?(record)
        end
      end

      # Receives a batch, or waits for one.
      # @return [Boolean] false: time is up
      def fetch(finish)
        role = nil
        # The end of handle_interrupt raises a pending interrupt; by then the role is known.
        Thread.handle_interrupt(NEVER) { role = fetch_or_wait }
        role == :fetched || await(role, finish)
      ensure
        Thread.handle_interrupt(NEVER) { stop_waiting(role) if %i[leads follows].include?(role) }
      end

      # @return [Symbol] :fetched; or :leads or :follows, when the caller counts as waiting
      def fetch_or_wait
        @lock.synchronize do
          next :fetched unless @pending.empty? || forked?
          adapt(Timeout.now - @fetched)
          batch = @waiting.zero? ? next_batch : receive(1)
          @fetched = Timeout.now
          save if @unsaved && @state.due_in.zero?
          if batch
            @unsaved = true if @state
            @writers.time = Process.clock_gettime(Process::CLOCK_REALTIME)
            @pending = batch
            next :fetched
          end
          @waiting += 1
          next :follows if @led
          @led = true
          :leads
        end
      end

      def next_batch
        @fair_queues ? @fair_queues.batch(@size) { |count| receive(count) } : receive(@size)
      end

      # @return [Array, nil] what {Record.parse} takes, of at most `count` messages
      def receive(count)
        messages = @socket.recv_many(count, timeout: 0, exception: false) or return
        messages.each_with_object([]) do |message, taken|
          records = Native::Packing.split(message)
          records ? taken.concat(records) : taken << message
        end
      end

      # @param spent [Float] seconds that the callers took for the last batch
      def adapt(spent)
        if spent > SLICE
          @size = [@size / 2, 1].max
        elsif spent < SLICE / 4 && @size < BATCH
          @size *= 2
        end
      end

      # @return [Boolean] false: time is up
      def await(role, finish)
        left = finish && [finish - Timeout.now, 0].max
        if role == :follows
          @lock.synchronize { @arrived.wait(@lock, left) if @led && @pending.empty? }
        else
          due = @state.due_in if @unsaved
          readable = @socket.wait_readable([left, due].compact.min)
        end
        readable || !finish || Timeout.now < finish
      end

      # Wakes another waiting thread if there are pending records or no leader.
      def stop_waiting(role)
        @lock.synchronize do
          @waiting -= 1
          @fetched = Timeout.now
          @led = false if role == :leads
          @arrived.signal unless @led && @pending.empty?
        end
      end

      def save
        @unsaved = false
        @state&.save(@writers.to_a)
      end
    end
  end
end
