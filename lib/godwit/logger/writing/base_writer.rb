# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # The base of {Sender} and {DurableWriter}: the process that they belong to, and their close.
    class BaseWriter
      def initialize(settings, warnings)
        @settings = settings
        @plain = settings.plain?
        @warnings = warnings
        @pid = Process.pid
        @starting = Mutex.new
        @ending = Mutex.new
        @closing = @finished = @incomplete = false
        @last_error = nil
      end

      attr_reader :queue, :sequence, :settings
      def plain? = @plain
      def own? = @pid == Process.pid
      # @return [Boolean] false: it is closed, or an interrupt ended its close
      def at_work? = own? && (!@closing || @ending.locked?)
      # @return [Boolean] whether linger ended before all records were sent or acknowledged
      def incomplete? = @incomplete
      # Opens the socket before the first record, so that an address in use raises an error at once.
      def open = nil
      # Adopts the counts of an earlier writer, which had to end.
      def inherit(_writer) = nil
      # Whether the writer has ended: false while a thread closes it or after an interrupted close.
      def ended? = !own? || (@finished && !@ending.locked?)

      # Sends the queued records, for at most linger and at most `most` seconds from `start`, and
      # warns about the rest. If another thread is closing the writer, this call waits for it. After
      # an interrupt, the next call continues.
      def close(start = Timeout.now, most = @settings.linger)
        return if !own? || Thread.current.equal?(@thread)
        ended = first_with(@ending) do
          stop # under the lock: {Exit} cuts the linger of a writer that stopped and has no lock
          # Waits for another thread's {start}: no thread may begin after `finish`.
          Thread.pass while @starting.locked? && !@starting.owned?
          finish(start + [@settings.linger, most].min) unless @finished
        end
        return if ended || @starting.owned? # the lock's owner waits for this thread's {start}
        @ending.synchronize { nil }
        close(start, most) unless @finished # an interrupt ended the other thread's close
      rescue ThreadError
        nil # this is a trap handler that interrupted another close
      end

      # Stores an exception, or an error built from a text, and warns about it.
      def record_error(error)
        exception = error.is_a?(Exception)
        @last_error = exception ? error : StateError.new(error, operation: :log,
          endpoint: @settings.endpoint)
        @warnings.call(exception ? "#{error.message} (#{error.class})" : error)
      end

      private

      # Runs the block unless another thread has the lock. A trap handler may call this method too.
      def first_with(lock)
        mine = false
        # An interrupt between the lock and the block must not leave the lock locked.
        Thread.handle_interrupt(Object => :never) { mine = lock.try_lock }
        yield if mine
        mine
      ensure
        lock.unlock if mine
      end
    end
    private_constant :BaseWriter
  end
end
