# frozen_string_literal: true

module ZMQ
  # A callback that a Loop calls once or several times.
  class Timer
    # @return [Integer, Float] seconds
    attr_reader :delay
    # @return [Integer] 0: without end
    attr_reader :times

    # @param delay [Integer, Float] seconds
    # @param times [Integer] 0: without end
    # @param callback [#call, nil] or a block
    def initialize(delay, times, callback = nil, &block)
      @callback = callback || block or raise ArgumentError, "no callback given!"
      @delay = Arguments.type(delay, Integer, Float)
      @times = Arguments.type(times, Integer)
      @cancelled = false
    end

    # Calls the callback now.
    def fire(*args)
      raise Error, "cannot fire timer, already cancelled!" if @cancelled
      @callback.call(*args)
    end
    alias_method :call, :fire

    # The timer does not fire again.
    def cancel
      @cancelled = true
      nil
    end

    # Called with what the callback raised.
    def on_error(exception)
      raise exception
    end

    # @private
    def cancelled? = @cancelled
  end
end
