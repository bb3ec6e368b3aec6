# frozen_string_literal: true

module ZMQ
  # A callback that a Loop calls after a while, once or more often.
  class Timer
    Arguments = Godwit::Compat::Rbczmq::Arguments
    private_constant :Arguments

    # @return [Integer, Float] seconds
    attr_reader :delay
    # @return [Integer] 0: for ever
    attr_reader :times

    # @param delay [Integer, Float] seconds
    # @param times [Integer] 0: for ever
    # @param callback [#call, nil] or a block
    def initialize(delay, times, callback = nil, &block)
      @callback = callback || block or raise ArgumentError, "no callback given!"
      @delay = Arguments.type(delay, Integer, Float)
      @times = Arguments.type(times, Integer)
      @cancelled = false
    end

    # Calls it now.
    def fire(*args)
      raise Error, "cannot fire timer, already cancelled!" if @cancelled
      @callback.call(*args)
    end
    alias_method :call, :fire

    # Has it never fire again.
    # @return [nil]
    def cancel
      @cancelled = true
      nil
    end

    # It raised.
    def on_error(exception)
      raise exception
    end

    # @private
    def cancelled? = @cancelled
  end
end
