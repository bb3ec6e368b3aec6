# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    class Reader
      # Receives a reader's messages for any number of threads. One waiting thread leads: it waits
      # on the socket. The others follow: they wait for the leader.
      class Arrivals
        # Messages that one call receives, at first and at most. Callers that need more than {SLICE}
        # for a batch halve the number, so that no writer's records wait long behind another's.
        FIRST = 4
        BATCH = 256
        SLICE = 0.02 # seconds for a batch; if callers spend more, the next batch is smaller
        NEVER = {Object => :never}.freeze

        attr_reader :waiting # threads that wait for a record

        def initialize(socket, writers, filter: nil, queues: nil, state: nil)
          @socket = socket
          @writers = writers
          @filter = filter
          @queues = queues
          @state = state
          @topics = Topic.memory
          @lock = Mutex.new
          @arrived = ConditionVariable.new
          @pending = []
          @waiting = 0
          @led = false
          @size = FIRST
          @fetched = Timeout.now
        end

        # @return [Record, Array<String>, nil] a foreign message is an Array; nil: time is up
        def next(finish)
          loop do
            # In a forked child, the pending records are the parent's.
            found = @lock.synchronize { dequeue } unless @socket.forked?
            return found if found
            return unless fetch(finish)
          end
        end

        # Runs the block while no thread counts a record.
        def synchronize(&block) = @lock.synchronize(&block)

        # Ends all waits, and writes the state file.
        def close
          @socket.close
          @lock.synchronize do
            @pending = []
            @arrived.broadcast
            save
          end
        end

        private

        # Dequeues the next record. The caller holds the lock, so that each writer's records are
        # counted in order.
        def dequeue
          while (found = @pending.shift)
            @arrived.signal if @waiting.positive? && @pending.any?
            @writers.count(found)
            return found if !@filter || !found.is_a?(Record) || @filter.fits?(found)
          end
        end

        # Receives a batch, or waits for one. Returns false when time is up.
        def fetch(finish)
          role = nil
          # The end of handle_interrupt raises a pending interrupt; by then `role` is set.
          Thread.handle_interrupt(NEVER) { role = fetch_or_wait }
          role == :fetched || await(role, finish)
        ensure
          Thread.handle_interrupt(NEVER) { stop_waiting(role) if %i[leads follows].include?(role) }
        end

        # @return [Symbol] :fetched, or the role in which the caller now waits: :leads or :follows
        def fetch_or_wait
          @lock.synchronize do
            next :fetched unless @pending.empty? || @socket.forked?
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
          @queues ? @queues.batch(@size) { |count| receive(count) } : receive(@size)
        end

        def receive(count)
          messages = @socket.recv_many(count, timeout: 0, exception: false) or return
          messages.each_with_object([]) do |message, found|
            batch = Packing.split(message)
            next found << parse(message) unless batch
            batch.each { |frames| found << parse(frames) }
          end
        end

        def parse(message) = Record.parse(message, @topics) || message

        # @param spent [Float] seconds that the callers spent on the last batch
        def adapt(spent)
          if spent > SLICE
            @size = [@size / 2, 1].max
          elsif spent < SLICE / 4 && @size < BATCH
            @size *= 2
          end
        end

        def await(role, finish)
          remaining = Timeout.until(finish)
          if role == :follows
            @lock.synchronize { @arrived.wait(@lock, remaining) if @led && @pending.empty? }
          else
            due = @state.due_in if @unsaved
            readable = @socket.wait_readable([remaining, due].compact.min)
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
      private_constant :Arrivals
    end
  end
end
