# frozen_string_literal: true

module Godwit
  # Converts the seconds of the public API to the milliseconds of a backend, and measures time.
  # @private
  module Timeout
    # The default of a keyword whose nil has a meaning of its own: the caller gave no value.
    UNSET = Object.new.freeze

    # Seconds from which on a time-out counts as "for ever": about 285,000 years.
    MAX = 9e12

    class << self
      # @return [#call, nil] the clock of a test, which returns seconds; nil: the system's
      attr_accessor :clock
    end

    # @param seconds [Integer, Float, nil] nil is for ever
    # @return [Integer, nil] milliseconds, rounded up; -1: for ever; nil: UNSET was given
    def self.milliseconds(seconds)
      return nil if UNSET.equal?(seconds)
      return -1 if seconds.nil?
      unless Float === seconds || Integer === seconds || number?(seconds)
        raise ArgumentTypeError,
          "a timeout is a number of seconds, or nil for none: got #{Errors.shown(seconds)}"
      end
      seconds = seconds.to_f
      unless seconds >= 0
        raise ArgumentValueError, "a timeout is at least 0 seconds, or nil for none: got #{seconds}"
      end
      (seconds >= MAX) ? -1 : (seconds * 1000).ceil
    end

    # Refuses a value that is no duration.
    def self.check(seconds) = milliseconds(seconds)

    # @return [Boolean] whether the value is a real number
    def self.number?(value)
      value.is_a?(Numeric) && value.respond_to?(:positive?)
    end

    # The clock of all deadlines and intervals in Ruby code.
    # @return [Float] seconds on the monotonic clock
    def self.now
      clock = Timeout.clock
      clock ? clock.call : Runtime.now
    end

    # @return [Float, nil] how many of the `seconds` since `start` remain, at least 0
    def self.remaining(seconds, start) = seconds && [seconds - (now - start), 0].max

    # @return [Float, nil] seconds until a time of this clock, at least 0
    def self.until(time) = time && [time - now, 0].max

    # Waits for a moment, in which deferred interrupts arrive. (JRuby's sleep(0) does not wait.)
    def self.take_interrupts = Kernel.sleep(1e-9)
  end
end
