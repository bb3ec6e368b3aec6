# frozen_string_literal: true

require_relative "zap"
require_relative "decision"
require_relative "rules"
require_relative "question"
require_relative "question_queue"
require_relative "workers"

module Godwit
  class Auth
    # The ZAP handler of a context: a ROUTER and the thread that answers on it. Workers call the
    # blocks and send their answers.
    # @private
    class Handler
      ENDPOINT = Endpoint::ZAP
      private_constant :ENDPOINT

      # Seconds between two warnings of one class.
      QUIET = 1
      # Seconds after `Auth.new` in which a mechanism without a rule answers 300.
      STARTING = 5
      private_constant :QUIET, :STARTING

      # The handlers that serve. The entry keeps the socket of a handler whose thread was killed
      # from the garbage collector: libzmq then gets no answer and refuses all clients.
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
      # @param name [String] the first word of its warnings
      # @raise [AddressInUseError] when the context has a handler
      # @raise [ThreadError] when the handler's thread cannot start
      def initialize(context, timeout, workers, name)
        @context = context
        @timeout = timeout
        @name = name
        @rules = Rules.new
        @started = Timeout.now
        @lock = Mutex.new
        @pending = []
        @warned = {}
        @pid = Process.pid
        @workers = Workers.new(workers, method(:warn_of_dropping))
        bind
        Handler.keep(self)
        start
      end

      # @return [Rules]
      attr_reader :rules
      # @return [#call, nil]
      attr_accessor :on_decision

      # @yieldparam rules [Rules] the present rules
      # @yieldreturn [Rules] the new rules
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

      # @return [Array<Thread>] the threads of the handler, for the tests
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

      # The next Auth needs the endpoint when this thread cannot start.
      def start
        @thread = Worker.new { run }
        @thread.name = "godwit auth"
      ensure
        finish unless @thread
      end

      # After the unbind libzmq finds no handler. After a close alone it would find this one for a
      # moment.
      def finish
        begin
          @socket.unbind(ENDPOINT) unless @socket.closed?
        rescue Error
          nil # the socket or its context is closed
        end
        @socket.close
        @workers.close
        Handler.release(self)
      end

      # A kill leaves the socket bound: libzmq then refuses all clients.
      def run
        loop do
          message = @socket.recv_multipart(timeout: next_timeout, exception: false)
          serve(message)
        end
      rescue ClosedError, ContextTerminatedError
        finish
      end

      # An error costs one request. The text of the error may contain a password.
      def serve(message)
        expire
        answer_message(message) if message
      rescue ClosedError, ContextTerminatedError
        raise
      rescue => error
        warn_once([:serve, error.class]) { "a request failed: #{error.class}" }
      end

      # @return [Float, nil] seconds until the next deadline of a pending request
      def next_timeout
        @pending.shift while @pending.first&.claimed?
        [@pending.first.deadline - Timeout.now, 0].max unless @pending.empty?
      end

      def expire
        return if @pending.empty?
        now = Timeout.now
        while (question = @pending.first) && (question.claimed? || question.deadline <= now)
          if question.claim
            @workers.remove(question)
            answer(question.ask, question.expired)
          end
          @pending.shift
        end
      end

      def answer_message(message)
        ask = ZAP.parse(message)
        verdict, error = judge(ask)
        return question(ask, verdict.block) if verdict.block
        answer(ask, verdict) { warn_of_rule(ask, error) if error }
      rescue ZAP::Malformed => error
        answer(error.ask, Verdict.refuse(error.message))
      end

      # @return [Array(Verdict, StandardError)] the error that the rule raised, or nil
      def judge(ask)
        [@rules.judge(ask, Timeout.now - @started < STARTING), nil]
      rescue ClosedError, ContextTerminatedError
        raise
      rescue => error
        [Verdict.later("its rule could not be checked"), error]
      end

      def warn_of_rule(ask, error)
        return warn_once(error.message) { error.message } if error.is_a?(CertError)
        warn_once([:rule, error.class]) { "a rule raised #{Auth.described(error, ask)}" }
      end

      def question(ask, block)
        question = Question.new(ask, block, Timeout.now + @timeout) do |_, verdict, error|
          answer(ask, verdict) do
            warn_of_block(ask, error) if verdict.status == Verdict::LATER
          end
        end
        refused = @workers.ask(question)
        return @pending << question unless refused
        return answer(ask, Verdict.later("no worker was free")) unless refused == :crowded
        answer(ask, Verdict.later("too many clients of its address wait")) { warn_of_crowd(ask) }
      end

      def warn_of_crowd(ask)
        warn_once(:crowd) do
          "#{QuestionQueue::MAX_PER_ADDRESS} clients from #{ask.request.address} wait for a " \
            "worker: more of them get a 300 (try again)"
        end
      end

      # @param error [Exception, nil] nil: the block ended its thread
      def warn_of_block(ask, error)
        mechanism = ask.request.mechanism
        subject = "the block for a #{mechanism} client"
        if error
          warn_once([mechanism, error.class]) { "#{subject} raised #{Auth.described(error, ask)}" }
        else
          # On another thread: the end of the process also ends this one, and needs no warning.
          @workers.tell(-> { warn_once([mechanism, nil]) { "#{subject} ended its thread" } })
        end
      end

      # The send never waits: a ROUTER drops a reply that its peer cannot take.
      # @yield after the reply: a slow or failing warning must not delay the client
      def answer(ask, verdict)
        text = (verdict.status == Verdict::GRANTED) ? "OK" : verdict.reason
        @socket.send_nonblock(
          ask.reply(verdict.status, text, verdict.user_id), exception: false
        )
        yield if block_given?
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

      def warn_of_dropping
        warn_once(:dropped) { "a decision was dropped: on_decision is slow or has no thread" }
      end

      def notice(block, decision)
        block.call(decision)
      rescue *Question::ERRORS => error
        warn_once([:on_decision, error.class]) do
          "the block of on_decision raised #{error.full_message(highlight: false)}"
        end
      end

      # Warns at most once a second for each class of warning: any client may cause one. Ignores
      # errors of the application's $stderr and Warning.warn.
      # @param category [Object] the class of the warning
      # @yieldreturn [String]
      def warn_once(category)
        warn "#{@name}: #{yield}" if due?(category)
      rescue
        nil
      end

      def due?(category)
        now = Timeout.now
        @lock.synchronize do
          next false if @warned[category] && now - @warned[category] < QUIET
          @warned.clear if @warned.size > 100
          @warned[category] = now
        end
      end
    end
    private_constant :Handler
  end
end
