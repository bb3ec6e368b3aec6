# frozen_string_literal: true

module Godwit
  class Timers
    # One timer, made by {Timers#after}, {Timers#every} and those of a {Loop}. Any thread may call
    # any of its methods; its callback runs where the timers are fired.
    class Timer
      # @return [Integer, Float] seconds before it fires, and between one firing and the next
      attr_reader :interval

      # @return [Integer, nil] how many times it fires in all; nil: until it is cancelled
      attr_reader :times

      # @return [Integer] how many times it has fired since it was made or {#reset}
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

      # Stops it: it does not fire any more, also not in the round of callbacks that calls this. A
      # second call does nothing.
      # @return [self]
      def cancel
        @timers.disarm(self)
        self
      end

      # Starts it anew, from now and with all its {#times}, also one that has ended or was
      # cancelled.
      # @return [self]
      def reset
        @timers.rearm(self, @interval)
        self
      end

      # Changes the interval and starts it anew.
      # @param seconds [Integer, Float] at least 0
      # @raise [ArgumentTypeError, ArgumentValueError] for what is no duration
      def interval=(seconds)
        @timers.rearm(self, Timers.seconds(:interval=, seconds))
      end

      # @return [Boolean] whether {#cancel} was called, and not {#reset} since
      def cancelled?
        @cancelled
      end

      # @return [Boolean] whether it will fire again
      def pending?
        !index.nil?
      end

      # @return [Float, nil] seconds until it fires, 0 when it is due; nil when it will not
      def next_in
        pending? ? [@deadline - @timers.now, 0.0].max : nil
      end

      # Runs its callback now; its next firing and what {#fired} says stay as they are.
      # @return [Object] the callback's value
      def call
        @callback.call(self)
      end

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

      # Of two with one deadline that which was made first.
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

      # It fires now.
      # @return [Boolean] whether it will again; then its deadline is the first of its rounds that
      #   is to come
      # @private
      def advance(now)
        @fired += 1
        return false if @times && @fired >= @times
        @round += 1
        @round = [@round, ((now - @origin) / @interval).floor + 1].max if @interval.positive?
        due_at(@origin + @round * @interval, now)
        true
      end

      # @private
      def ended(cancelled)
        @cancelled = cancelled
      end

      private

      # Later than what is being fired: so each round of callbacks ends, though they make timers
      # that are due at once.
      def due_at(deadline, horizon)
        @deadline = (deadline > horizon) ? deadline : horizon.to_f.next_float
      end
    end
  end
end
