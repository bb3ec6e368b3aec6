# frozen_string_literal: true

module Godwit
  class Loop
    # Calls the block once, after a time.
    # @param seconds [Integer, Float] from now; 0: in the next turn
    # @yieldparam timer [Timers::Timer] which can be cancelled and reset
    # @return [Timers::Timer]
    # @raise [ArgumentTypeError, ArgumentValueError] when the time is no duration, or there is no
    #   block
    # @raise [StateError] in a trap block
    # @raise [ClosedError, ForkedError]
    def after(seconds, &block)
      usable(:after)
      @timers.after(seconds, &block)
    end

    # Calls the block at start + interval, start + 2 * interval…, without drift; calls missed in a
    # stall are skipped (see {Timers}).
    # @param seconds [Integer, Float] the interval; 0: in each turn
    # @param times [Integer, nil] how many times, at least 1; nil: until it is cancelled
    # @yieldparam timer [Timers::Timer] which can be cancelled, reset, and given another interval
    # @return [Timers::Timer]
    # @raise [Error] as {#after}
    def every(seconds, times: nil, &block)
      usable(:every)
      @timers.every(seconds, times: times, &block)
    end

    # Runs the block in the loop's next turn, in the loop's thread. From any thread or `trap` block.
    # @yieldparam loop [Loop]
    # @return [self]
    # @raise [ArgumentValueError] without a block
    # @raise [ClosedError, ForkedError]
    def post(&block)
      raise Errors.bad_value(:post, "the call", "a block to run", nil) unless block
      usable(:post)
      without_interrupts do
        @posted.push(block)
        wake
      end
      self
    end

    # {#run} goes on after a StandardError of a callback, a timer or a posted block, or of what was
    # closed elsewhere, and calls the block. It raises what the block raises. A later call replaces
    # the block; without a block, {#run} raises the errors.
    # @yieldparam error [StandardError]
    # @yieldparam source [Socket, IO, #to_io, Timers::Timer, Loop] whose callback raised; the loop
    #   for a posted block
    # @return [self]
    def on_error(&block)
      @on_error = block
      self
    end
  end
end
