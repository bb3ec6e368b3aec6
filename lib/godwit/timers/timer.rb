# frozen_string_literal: true

module Godwit
  class Timers
    # A timer, made by {Timers#after}, {Timers#every}, {Loop#after} and {Loop#every}. Any thread may
    # call any of its methods; its callback runs in the thread that fires the timers.
    class Timer
      # @return [Integer, Float] seconds before the timer fires, and between one firing and the next
      attr_reader :interval
      # @return [Integer, nil] number of firings in all; nil: it fires until it is cancelled
      attr_reader :times
      # @return [Integer] number of firings since the timer was made or {#reset}
      attr_reader :fired
      # @private
      attr_reader :deadline, :callback
      # @private
      attr_accessor :index

      # @private
      def initialize(timers, serial, interval, times, callback)
        @timers = timers
        @serial = serial
        @interval = interval
        @times = times
        @callback = callback
        @cancelled = false
      end

      # Stops the timer: it does not fire any more, not even in a {Timers#fire} that runs now. A
      # second call does nothing.
      # @return [self]
      def cancel
        @timers.disarm(self)
        self
      end

      # Starts the timer again, from now and with all its {#times}, also after it has ended or was
      # cancelled.
      # @return [self]
      def reset
        @timers.rearm(self, @interval)
        self
      end

      # Changes the interval and starts the timer again.
      # @param seconds [Integer, Float] at least 0
      # @raise [ArgumentTypeError, ArgumentValueError] when `seconds` is no duration
      def interval=(seconds)
        @timers.rearm(self, Timers.seconds(:interval=, seconds))
      end

      # @return [Boolean] whether {#cancel} was called, and not {#reset} since
      def cancelled? = @cancelled
      # @return [Boolean] whether the timer will fire again
      def pending? = !index.nil?
      # @return [Float, nil] seconds until the timer fires, 0 if its time has come; nil: it is over
      def next_in = pending? ? [@deadline - @timers.now, 0.0].max : nil
      # Calls the callback now; {#fired} and the time of the next firing do not change.
      # @return [Object] the callback's value
      def call = @callback.call(self)

      # @return [String]
      def inspect
        state =
          if pending? then "in #{next_in.round(3)} s"
          else cancelled? ? "cancelled" : "ended"
          end
        "#<#{self.class} #{(@times == 1) ? "after" : "every"} #{@interval} s, " \
        "fired #{@fired}#{" of #{@times}" if @times} times, #{state}>"
      end
      alias_method :to_s, :inspect

      # @private
      def before?(other)
        return @deadline < other.deadline unless @deadline == other.deadline
        @serial < other.serial
      end

      # @private
      attr_reader :serial

      # @private
      def start(now, interval, horizon)
        @interval = interval
        @origin = now
        @round = 1
        @fired = 0
        @cancelled = false
        due_at(now + interval, horizon)
      end

      # @private
      # Counts a firing, and sets the deadline to the first start + n * interval in the future.
      def advance(now)
        @fired += 1
        return false if @times && @fired >= @times
        @round += 1
        @round = [@round, ((now - @origin) / @interval).floor + 1].max if @interval.positive?
        due_at(@origin + @round * @interval, now)
        true
      end

      # @private
      def cancelled!
        @cancelled = true
      end

      private

      # A new deadline is later than the time of a running {Timers#fire}: so that call ends, even if
      # its callbacks make timers with the interval 0.
      def due_at(deadline, horizon)
        @deadline = (deadline > horizon) ? deadline : horizon.to_f.next_float
      end
    end
  end
end
