# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    class DurableWriter < BaseWriter
      # How a durable logger stores a record, and waits for room.

      private

      def pending = [@store.segments.last - @store.segments.released - @gone, 0].max

      # With the lock.
      # @return [Boolean, Symbol] as {#push}
      def take(entry)
        return :sealed if @sealed
        has_room = room?
        return :sealed if @sealed # it waited for room
        return store(entry) if has_room
        drop(entry)
        false
      end

      # With the lock.
      # @return [Boolean]
      def room?
        return true if @store.segments.bytes < @most
        return false unless @settings.overflow == :block
        finish = @settings.block_timeout && Timeout.now + @settings.block_timeout
        waiting do
          until @store.segments.bytes < @most || @closing || (finish && Timeout.now >= finish)
            wait(finish)
          end
        end
        @store.segments.bytes < @most
      end

      # With the lock. A waiting caller counts itself before it looks: the sender signals only
      # while a caller waits.
      def waiting
        @waiting += 1
        yield
      ensure
        @waiting -= 1
      end

      def wait(finish)
        Thread.handle_interrupt(Object => :immediate) do
          @freed.wait(@lock, finish && [finish - Timeout.now, 0].max)
        end
      rescue => error
        raise Interruption, cause: error
      end

      # With the lock.
      # @return [Boolean] whether it is on the disk
      def store(entry)
        report if @drops.unreported?
        put(entry)
        true
      rescue SystemCallError => error
        @deleted = error.is_a?(Errno::ENOENT) && deleted?
        @drops.fail(entry[0])
        trouble(error)
        false
      end

      def put(entry)
        record = @encoder.encode(entry)
        seq = @encoder.seq
        @store.segments.append(SegmentedLog.entry(seq, record), seq)
        @stored += 1
      end

      # One record that closes the gaps which readers see.
      def report
        @drops.report(Timeout.now) { |entry| put(entry) }
      end

      # In a trap handler.
      def enqueue(entry)
        return drop(entry) if @queue.size >= MOST_QUEUED
        @queue << entry
        @sender&.wake(always: true)
      end

      # In the sender.
      def store_queued
        return if @queue.empty?
        @lock.synchronize do
          store(@queue.pop(true)) until @queue.empty?
        end
      rescue ThreadError
        nil
      end

      # In the sender.
      def progress
        @lock.synchronize { @freed.broadcast } if @waiting.positive?
      end

      def trouble(error)
        @last_error =
          (
            if error.is_a?(Exception)
              error
            else
              StateError.new(error, operation: :log, endpoint: @settings.endpoint)
            end
          )
        @warnings.call(error.is_a?(Exception) ? "#{error.message} (#{error.class})" : error)
      end
    end
  end
end
