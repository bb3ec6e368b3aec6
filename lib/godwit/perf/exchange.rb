# frozen_string_literal: true

module Godwit
  module Perf
    # The exchanges of libzmq's perf tools: fixed numbers of messages of one size, without a
    # warm-up. Each call has its own context, and returns when libzmq has sent all messages.
    # @private
    module Exchange
      class SizeError < AnswerError; end

      INPROC = "inproc://godwit-perf"

      module_function

      # Binds a REP that returns each request.
      # @param frames [Boolean] whether messages are Frames, which Ruby does not copy
      def echo(endpoint, size, count, frames: false, **options)
        with(:REP, :bind, endpoint, options) do |rep|
          count.times { rep.send(checked(frames ? rep.recv_frame : rep.recv, size)) }
        end
        nil
      end

      # Connects a REQ and sends each reply again. Returns the seconds, including connecting.
      def round_trips(endpoint, size, count, frames: false, **options)
        with(:REQ, :connect, endpoint, options) do |req|
          message = ("3" * size).freeze
          message = Frame.new(message) if frames
          timed do
            count.times do
              req.send(message)
              message = checked(frames ? req.recv_frame : req.recv, size)
            end
          end
        end
      end

      # @return [Float] seconds from the first message to the last
      def receive(endpoint, size, count, **options)
        with(:PULL, :bind, endpoint, options) do |pull|
          checked(pull.recv, size)
          timed { (count - 1).times { checked(pull.recv, size) } }
        end
      end

      def push(endpoint, size, count, **options)
        with(:PUSH, :connect, endpoint, options) do |push|
          message = ("\0" * size).freeze
          count.times { push.send(message) }
        end
        nil
      end

      # Runs two methods of this module: `partner` on a new thread, `measured` on the caller's.
      def inproc(measured, partner, size, count)
        Context.new do |context|
          thread = Worker.new { run_partner(partner, size, count, context) }
          public_send(measured, INPROC, size, count, context: context)
        ensure
          context.shutdown
          thread&.join
        end
      end

      def run_partner(partner, size, count, context)
        public_send(partner, INPROC, size, count, context: context)
      rescue ContextTerminatedError
        nil # an exception in `measured` has shut the context down
      end

      # Yields a socket. Its linger is unlimited, but brief if an exception ends the exchange.
      def with(type, method, endpoint, options, &block)
        unless options[:context]
          return Context.new do |own|
            with(type, method, endpoint, {**options, context: own}, &block)
          end
        end
        options[:context].exit_linger = 0
        Godwit.const_get(type).public_send(method, endpoint, **options) do |socket|
          done = yield(socket) || true
        ensure
          socket.linger = Context::BRIEF_LINGER unless done
        end
      end

      def timed
        start = Timeout.now
        yield
        Timeout.now - start
      end

      # Refuses a message of another size, or of several frames, which is an Array.
      def checked(message, size)
        return message if !message.is_a?(Array) && message.bytesize == size
        raise SizeError, "message of incorrect size received"
      end

      private_class_method :run_partner, :with, :timed, :checked
    end
  end
end
