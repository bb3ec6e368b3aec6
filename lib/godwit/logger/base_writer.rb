# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # What {Writer} and {DurableWriter} have in common: whose they are, and how they end.
    # @private
    class BaseWriter
      # @param warnings [#call]
      def initialize(settings, warnings)
        @settings = settings
        @warnings = warnings
        @pid = Process.pid
        @starting = Mutex.new
        @ending = Mutex.new
        @closing = @finished = @incomplete = false
        @last_error = nil
      end

      attr_reader :encoder, :last_error

      def own? = @pid == Process.pid

      # @return [Boolean] whether it is this process's, and not closed
      def at_work? = own? && !@closing

      # @return [Boolean] whether linger was over before all had gone, or was acknowledged
      def incomplete? = @incomplete

      # Goes on for one that had to end.
      def inherit(writer)
      end

      # A record came after the close.
      def count_late = @drops.late

      # Callers, without a lock.
      # @param entry [Array] see {Encoder}
      def drop(entry) = @drops.drop(entry[0])

      # @return [Boolean] whether there is nothing left to do for it in this process: another thread
      #   may be about to end it, or an interrupt have cut that short
      def ended? = !own? || (@finished && !@ending.locked?)

      # Lets what is there go, or be acknowledged, for linger; tells what did not, or is kept for
      # the next start. One thread does, others wait for it. After an interrupt the next call goes
      # on.
      # @param start [Float] from when linger counts
      # @param most [Numeric] seconds, where they are less than linger
      def close(start = Timeout.now, most = @settings.linger)
        return if !own? || Thread.current.equal?(@thread)
        stop
        alone do
          # A thread that is about to begin must not come after the end.
          Thread.pass while @starting.locked? && !@starting.owned?
          finish(start + [@settings.linger, most].min) unless @finished
        end
      rescue ThreadError
        nil # a trap handler, in the midst of another's close
      end

      private

      # One thread ends it, others wait for that.
      # @raise [ThreadError] in a trap handler, in the midst of another's end
      def alone(&block)
        first_with(@ending, &block) or @ending.synchronize { nil }
      end

      # Runs the block unless another thread has the lock, also in a trap handler. An interrupt
      # between the two must not leave it locked.
      # @return [Boolean] whether it ran
      def first_with(lock)
        mine = false
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
