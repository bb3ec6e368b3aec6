# frozen_string_literal: true

require_relative "zap"
require_relative "decision"
require_relative "rules"
require_relative "question"
require_relative "workers"

module Godwit
  class Auth
    # The ZAP handler of a context: a ROUTER and the thread that answers on it. Workers call the
    # blocks and send what these say.
    # @private
    class Handler
      ENDPOINT = Endpoint::ZAP
      private_constant :ENDPOINT

      # Seconds between two equal warnings.
      QUIET = 1
      private_constant :QUIET

      # Those that serve, so that the garbage collector leaves the socket of a dead one bound: then
      # libzmq finds a handler that does not answer, and refuses all clients.
      @serving = {}
      @lock = Mutex.new

      class << self
        # @private
        def keep(handler) = @lock.synchronize { @serving[handler] = true }

        # @private
        def release(handler) = @lock.synchronize { @serving.delete(handler) }
      end

      # @param context [Context]
      # @param timeout [Numeric] seconds
      # @param workers [Integer]
      # @param name [String] begins its warnings
      # @raise [AddressInUseError] when the context has a handler
      def initialize(context, timeout, workers, name)
        @context = context
        @timeout = timeout
        @name = name
        @rules = Rules.new
        @lock = Mutex.new
        @pending = []
        @warned = {}
        @pid = Process.pid
        @workers = Workers.new(workers, -> { tell("a decision was dropped: on_decision is slow") })
        bind
        Handler.keep(self)
        @thread = Worker.new { run }
        @thread.name = "godwit auth"
      end

      # @return [Rules]
      attr_reader :rules
      # @return [#call, nil]
      attr_accessor :on_decision

      # @yieldparam rules [Rules]
      # @yieldreturn [Rules]
      def change
        check_process
        @lock.synchronize { @rules = yield(@rules) }
      end

      def close
        check_process
        finish
        @thread.join unless Thread.current == @thread
        nil
      end

      def closed?
        check_process
        @socket.closed?
      end

      def forked? = @pid != Process.pid

      # @raise [ForkedError]
      def check_process
        return unless forked?
        raise Errors.build(
          ForkedError, :auth, nil, "the parent process has this Auth: create one in this process"
        )
      end

      # @return [Array<Thread>] its own, for the tests
      def threads = [@thread]

      # @return [Integer] threads that run blocks, for the tests
      def worker_count = @workers.size

      private

      def bind
        @socket = ROUTER.new(context: @context, linger: Context::BRIEF_LINGER)
        @socket.bind(ENDPOINT)
      rescue Error => error
        @socket&.close
        raise unless error.is_a?(AddressInUseError)
        raise Errors.build(
          AddressInUseError, :auth, ENDPOINT,
          "this context has an authenticator: use that one, or close it first"
        ), cause: nil
      end

      # Without the endpoint libzmq finds no handler any more; after a close alone it would find
      # this one for a moment.
      def finish
        begin
          @socket.unbind(ENDPOINT) unless @socket.closed?
        rescue Error
          nil # it or its context is closed
        end
        @socket.close
        @workers.close
        Handler.release(self)
      end

      # A kill leaves the socket bound: clients are refused then.
      def run
        loop do
          message = @socket.recv_multipart(timeout: patience, exception: false)
          expire
          answer_message(message) if message
        end
      rescue ClosedError, ContextTerminatedError
        finish
      end

      # @return [Float, nil] seconds until the next request's time is up
      def patience
        @pending.shift while @pending.any? && @pending.first.claimed?
        @pending.any? ? [@pending.first.deadline - Timeout.now, 0].max : nil
      end

      def expire
        now = Timeout.now
        while (question = @pending.first) && (question.claimed? || question.deadline <= now)
          answer(question.ask, question.expired) if question.claim
          @pending.shift
        end
      end

      def answer_message(message)
        ask = ZAP.parse(message)
        verdict = judge(ask)
        verdict.block ? question(ask, verdict.block) : answer(ask, verdict)
      rescue ZAP::Malformed => error
        answer(error.ask, Verdict.refuse(error.message))
      end

      def judge(ask)
        @rules.judge(ask)
      rescue ClosedError, ContextTerminatedError
        raise
      rescue CertError => error
        tell(error.message)
        Verdict.later("its rule could not be checked")
      rescue => error
        tell("a rule raised #{Auth.described(error, ask)}")
        Verdict.later("its rule could not be checked")
      end

      def question(ask, block)
        question = Question.new(ask, block, Timeout.now + @timeout) do |_, verdict, error|
          complain(ask, verdict, error)
          answer(ask, verdict)
        end
        return answer(ask, Verdict.later("no worker was free")) unless @workers.ask(question)
        @pending << question
      end

      def complain(ask, verdict, error)
        return if verdict.status != Verdict::LATER
        what = error ? "raised #{Auth.described(error, ask)}" : "ended its thread"
        text = "#{@name}: the block for a #{ask.request.mechanism} client #{what}"
        return warn(text) if error
        # By another thread: at the end of the process, which ends all of them, nobody says it.
        @workers.tell(-> { warn(text) })
      end

      # Never waits: a ROUTER drops what a client that is gone cannot take.
      def answer(ask, verdict)
        text = (verdict.status == Verdict::GRANTED) ? "OK" : verdict.reason
        @socket.send_nonblock(
          ask.reply(verdict.status, text, verdict.user_id), exception: false
        )
        notify(ask, verdict)
      rescue ClosedError, ContextTerminatedError
        nil
      end

      def notify(ask, verdict)
        block = @on_decision or return
        decision = Decision.new(
          ask.request, verdict.status, verdict.reason, user_id: verdict.user_id, key: ask.key
        )
        @workers.tell(-> { notice(block, decision) })
      end

      def notice(block, decision)
        block.call(decision)
      rescue *Question::ERRORS => error
        warn "#{@name}: the block of on_decision raised #{error.full_message(highlight: false)}"
      end

      # The same text at most once a second: any client may cause it.
      def tell(text)
        now = Timeout.now
        @lock.synchronize do
          return if @warned[text] && now - @warned[text] < QUIET
          @warned.clear if @warned.size > 100
          @warned[text] = now
        end
        warn "#{@name}: #{text}"
      end
    end
    private_constant :Handler
  end
end
