# frozen_string_literal: true

require_relative "request"
require_relative "decision"
require_relative "rules"
require_relative "workers"

module Godwit
  class Auth
    # The ZAP handler of a context: a ROUTER and the thread that answers on it. Workers call the
    # blocks of rules, and send the answers of these blocks.
    class Handler
      # Least seconds between two warnings of the same class.
      QUIET = 1
      # Seconds after `Auth.new` in which a client without a rule gets a 300 (try again), not a 400.
      STARTING = 5
      # Exceptions of a rule's or on_decision's block that do not end the worker's thread.
      ERRORS = [StandardError, ScriptError, SystemStackError, NoMemoryError].freeze

      # The running handlers. A handler whose thread was killed stays here, so that its socket is
      # not collected: libzmq then gets no answers and refuses all clients.
      @serving = {}
      @lock = Mutex.new

      class << self
        def retain(handler) = @lock.synchronize { @serving[handler] = true }
        def release(handler) = @lock.synchronize { @serving.delete(handler) }
      end

      # @param name [String] the first word of the handler's warnings
      def initialize(context, timeout, workers, name)
        @context = context
        @timeout = timeout
        @name = name
        @rules = Rules.new
        @started = Timeout.now
        @lock = Mutex.new
        # The requests whose block has not decided yet, in the order of their deadlines, with their
        # rules. The thread that removes a request answers it.
        @pending = {}
        @warned = {}
        @pid = Process.pid
        @workers = Workers.new(workers, method(:call_block)) do
          warn_once(:dropped) { "a decision was dropped: on_decision is slow or has no thread" }
        end
        bind
        Handler.retain(self)
        start
      end

      attr_reader :rules
      attr_accessor :on_decision

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

      def check_process
        return unless forked?
        raise Errors.build(ForkedError, :auth, nil,
          "the parent process has this Auth: create one in this process")
      end

      private

      def bind
        @socket = ROUTER.new(context: @context, linger: Context::BRIEF_LINGER)
        @socket.bind(Endpoint::ZAP)
      rescue Error => error
        @socket&.close
        raise unless error.is_a?(AddressInUseError)
        raise Errors.build(AddressInUseError, :auth, Endpoint::ZAP,
          "this context has an authenticator: use that one, or close it first"), cause: nil
      end

      # If the thread cannot start, `finish` unbinds the endpoint, which the next Auth needs.
      def start
        @thread = Worker.new { run }
        @thread.name = "godwit auth"
      ensure
        finish unless @thread
      end

      # The socket is unbound first: after a close without an unbind, libzmq would still find this
      # handler for a moment.
      def finish
        begin
          @socket.unbind(Endpoint::ZAP) unless @socket.closed?
        rescue Error
          nil # the socket or its context is closed
        end
        @socket.close
        @workers.close
        Handler.release(self)
      end

      # If this thread is killed, the socket stays bound, so that libzmq refuses all clients.
      def run
        loop do
          message = @socket.recv_multipart(timeout: next_timeout, exception: false)
          serve(message)
        end
      rescue ClosedError, ContextTerminatedError
        finish
      end

      # An error leaves one request without an answer. The warning names just the error's class: the
      # error's text may contain a password.
      def serve(message)
        expire
        answer_message(message) if message
      rescue ClosedError, ContextTerminatedError
        raise
      rescue => error
        warn_once([:serve, error.class]) { "a request failed: #{error.class}" }
      end

      def next_timeout = next_pending&.then { |request| Timeout.until(request.deadline) }

      def next_pending = @lock.synchronize { @pending.first&.first }

      # @return [Mechanism, nil] the request's rule; nil when another thread answers the request
      def claim(request) = @lock.synchronize { @pending.delete(request) }

      def expire
        while (request = next_pending) && request.deadline <= Timeout.now
          reason = @workers.remove(request) ? "no worker was free" : "its block takes too long"
          answer(request, Decision.later(request, reason)) if claim(request)
        end
      end

      def answer_message(message)
        request = Request.new(message, Timeout.now + @timeout)
        return answer(request, Decision.refuse(request, request.problem)) if request.problem
        decision, error = decide(request)
        return enqueue(request, decision) unless decision.is_a?(Decision)
        answer(request, decision) { warn_of_rule(request, error) if error }
      end

      # @return [Array(Decision, StandardError)] the Decision, or the rule whose block will decide;
      #   then the error that the rule raised, or nil
      def decide(request)
        [@rules.decide(request, Timeout.now - @started < STARTING), nil]
      rescue ClosedError, ContextTerminatedError
        raise
      rescue => error
        [Decision.later(request, "its rule could not be checked"), error]
      end

      def warn_of_rule(request, error)
        return warn_once(error.message) { error.message } if error.is_a?(CertError)
        warn_once([:rule, error.class]) { "a rule raised #{without_secret(error, request)}" }
      end

      def enqueue(request, rule)
        @lock.synchronize { @pending[request] = rule }
        refused = @workers.add(request) or return
        claim(request)
        reason = "no worker was free"
        return answer(request, Decision.later(request, reason)) unless refused == :crowded
        answer(request, Decision.later(request, "too many clients of its address wait")) do
          warn_of_crowd(request)
        end
      end

      # Calls the block, on a worker, unless the deadline has passed.
      def call_block(request)
        rule = @lock.synchronize { @pending[request] } or return
        decision = request.ask(rule)
      rescue *ERRORS => error
        decision = Decision.later(request, "its block raised #{error.class}")
      ensure
        if rule && claim(request)
          decision ||= Decision.later(request, "its block ended its thread")
          answer(request, decision) { warn_of_block(request, error) if decision.later? }
        end
      end

      def warn_of_crowd(request)
        warn_once(:crowd) do
          "#{RequestQueue::MAX_PER_ADDRESS} clients from #{request.address} wait for a " \
            "worker: more of them get a 300 (try again)"
        end
      end

      # @param error [Exception, nil] nil: the block ended its thread
      def warn_of_block(request, error)
        mechanism = request.mechanism
        subject = "the block for a #{mechanism} client"
        if error
          warn_once([mechanism, error.class]) do
            "#{subject} raised #{without_secret(error, request)}"
          end
        else
          # Another worker prints the warning. If this thread ends because the process exits, no
          # other worker runs, and no needless warning is printed.
          @workers.add_notice(-> { warn_once([mechanism, nil]) { "#{subject} ended its thread" } })
        end
      end

      def without_secret(error, request)
        text = error.full_message(highlight: false)
        request.redact(text.dup.force_encoding(Encoding::UTF_8).scrub("?"))
      end

      # The send never waits: a ROUTER drops a reply that its peer cannot receive.
      # @yield after the reply: a slow or failing warning must not delay the client
      def answer(request, decision)
        @socket.send_nonblock(request.reply(decision), exception: false)
        yield if block_given?
        block = @on_decision
        @workers.add_notice(-> { notice(block, decision) }) if block
      rescue ClosedError, ContextTerminatedError
        nil
      end

      def notice(block, decision)
        block.call(decision)
      rescue *ERRORS => error
        warn_once([:on_decision, error.class]) do
          "the block of on_decision raised #{error.full_message(highlight: false)}"
        end
      end

      # Warns at most once a second for each class of warning, since any client can cause warnings.
      # Ignores errors of the application's $stderr and Warning.warn.
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
