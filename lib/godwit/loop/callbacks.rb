# frozen_string_literal: true

module Godwit
  class Loop
    # Calls the block once.
    # @param seconds [Integer, Float] from now; 0: in the next turn
    # @yieldparam timer [Timers::Timer] which can be cancelled and reset
    # @return [Timers::Timer]
    # @raise [ArgumentTypeError, ArgumentValueError] for what is no duration, or without a block
    # @raise [StateError] in a trap block
    # @raise [ClosedError, ForkedError]
    def after(seconds, &block)
      usable(:after)
      @timers.after(seconds, &block)
    end

    # Calls the block at start + interval, start + 2 * interval…, without drift; what is missed in a
    # stall is skipped (see {Timers}).
    # @param seconds [Integer, Float] the interval; 0: in each turn
    # @param times [Integer, nil] how many times, at least 1; nil: until it is cancelled
    # @yieldparam timer [Timers::Timer] which can be cancelled, reset, and given another interval
    # @return [Timers::Timer]
    # @raise [Error] as {#after}
    def every(seconds, times: nil, &block)
      usable(:every)
      @timers.every(seconds, times: times, &block)
    end

    # Has the loop run the block in its next turn, in its own thread. From any thread, and in a
    # `trap` block too.
    # @yieldparam loop [Loop]
    # @return [self]
    # @raise [ArgumentValueError] without a block
    # @raise [ClosedError, ForkedError]
    def post(&block)
      raise Errors.bad_value(:post, "the call", "a block to run", nil) unless block
      usable(:post)
      at_once do
        @posted.push(block)
        wake
      end
      self
    end

    # Has the block told of exceptions, instead of {#run} ending with them: StandardErrors of
    # callbacks, timers and what was posted, and of what was closed elsewhere. What it raises itself
    # comes out of {#run}. The last one given counts; no block: none.
    # @yieldparam error [StandardError]
    # @yieldparam source [Socket, IO, #to_io, Timers::Timer, Loop] whose callback it was; the loop:
    #   one that was posted
    # @return [self]
    def on_error(&block)
      @on_error = block
      self
    end
  end
end
