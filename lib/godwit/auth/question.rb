# frozen_string_literal: true

module Godwit
  class Auth
    # A request that waits for a block. The thread that claims the question answers the request: the
    # worker that ran the block, or the Auth's own thread after the deadline.
    # @private
    class Question
      # Exceptions of a block that its worker survives.
      ERRORS = [StandardError, ScriptError, SystemStackError, NoMemoryError].freeze

      # @param ask [ZAP::Ask]
      # @param block [Proc]
      # @param deadline [Float] of {Timeout.now}
      # @param answer [#call] takes self, a Verdict, and the exception of the block or nil
      def initialize(ask, block, deadline, &answer)
        @ask = ask
        @origin = Addresses.origin(ask.request)
        @block = block
        @deadline = deadline
        @answer = answer
        @lock = Mutex.new
      end

      # @return [ZAP::Ask]
      attr_reader :ask
      # @return [Object] see {Addresses.origin}
      attr_reader :origin
      # @return [Float]
      attr_reader :deadline

      # Runs the block, unless the deadline has passed.
      def call
        return if @claimed
        @begun = true
        verdict = Verdict.of(@block.call)
      rescue *ERRORS => error
        verdict = Verdict.later("its block raised #{error.class}")
      ensure
        if @begun
          verdict ||= Verdict.later("its block ended its thread")
          @answer.call(self, verdict, error) if claim
        end
      end

      # @return [Boolean] true for the first caller
      def claim
        @lock.synchronize do
          next false if @claimed
          @claimed = true
        end
      end

      # @return [Boolean]
      def claimed? = @claimed

      # @return [Verdict] for a request whose deadline has passed
      def expired = Verdict.later(@begun ? "its block takes too long" : "no worker was free")
    end
    private_constant :Question
  end
end
