# frozen_string_literal: true

module Godwit
  class Socket
    # A request and its reply in one call.
    module Request
      # Sends a message and receives its reply. When no reply comes the socket stays usable:
      # libzmq's socket is replaced, so that a late reply is dropped (the Guide's Lazy Pirate). A
      # REQ that is bound, or is `relaxed: true, correlate: true`, sends again without that. Other
      # threads and fibers that call it wait for the end of this exchange.
      #
      #   req.request("hello", timeout: 0.5, retries: 3)
      #
      # @param message [String, Frame, Array<String, Frame>, Message] frames are gone once they were
      #   sent; a retry sends copies, which share their bytes
      # @param timeout [Integer, Float, nil] seconds for each try; nil: for ever; not given:
      #   `recv_timeout`
      # @param retries [Integer] tries after the first time-out
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [String, Array<String>] the reply; nil when the last try got none and `exception:
      #   false`
      # @raise [TimeoutError] when the last try got no reply
      # @raise [ArgumentValueError, ArgumentTypeError] for wrong `retries:` or `timeout:`
      # @raise [UnsupportedError] in a trap handler, which cannot wait for another exchange
      # @raise [Error] as {Messages#send} and {Messages#recv}
      # @see https://zguide.zeromq.org/docs/chapter4/#Client-Side-Reliability-Lazy-Pirate-Pattern
      def request(message, timeout: Timeout::UNSET, retries: 0, exception: true)
        unless retries.is_a?(Integer) && !retries.negative?
          raise Errors.bad_value(:request, "retries:", "a number, 0 or more", retries)
        end
        limit = Timeout::UNSET.equal?(timeout) ? recv_timeout : timeout
        Timeout.milliseconds(limit) # refuses a value that is no duration
        in_turn { try_often(message, limit, retries) }
      rescue TimeoutError => error
        raise error if exception
      end

      private

      def in_turn
        mine = false
        @request_lock.synchronize do
          mine = true
          yield
        end
      rescue Runtime::LockError => error
        raise error if mine
        raise Errors.build(UnsupportedError, :request, endpoints.first,
          "a trap handler cannot wait for its turn: start a Thread there")
      end

      def try_often(message, limit, retries)
        recreate if @recreate_first
        tries = 0
        kept = again(message) if retries.positive? && !spent?(message)
        begin
          exchange(message, limit)
        rescue TimeoutError => error
          raise error if (tries += 1) > retries || @recreate_first
          message = again(kept) if spent?(message)
          retry
        end
      end

      def again(message)
        return message.map { |part| again(part) } if message.is_a?(Array)
        message.respond_to?(:gone?) ? message.dup : message
      end

      def spent?(message)
        return message.any? { |part| spent?(part) } if message.is_a?(Array)
        message.respond_to?(:gone?) && message.gone?
      end

      # Only the waits take interrupts, not the replacement of the socket.
      def exchange(message, limit)
        Runtime.defer_interrupts do
          start = Timeout.now
          begun = true
          begin
            send(message, timeout: limit)
          rescue Error => error
            begun = false # it was not sent
            reconnect if error.is_a?(TimeoutError)
            raise error
          end
          reply = recv(timeout: Timeout.left(limit, start))
        ensure
          drop_reply if begun && reply.nil? && !closed?
        end
      end

      # Also after an interrupt, so that the next request gets no late reply. An error here must not
      # replace the first error; the next request recreates the socket first, and raises it.
      def drop_reply
        recreate
      rescue Error
        nil
      end

      def recreate
        @recreate_first = true
        unless matches_replies?
          # Relaxed alone would take a late reply for the next.
          _recreate || %i[relaxed correlate].each { |name| set(name, true) }
        end
        @recreate_first = false
      rescue ContextTerminatedError
        nil # the caller's next call raises it
      end

      # Without a connection libzmq takes no message, and after a refusal with status 400 it makes
      # no new one. An error here must not replace the TimeoutError.
      def reconnect
        _recreate
      rescue Error
        @recreate_first = true
      end

      def matches_replies?
        %i[relaxed correlate].all? { |name| @settings[Options.fetch(name).id] == 1 }
      end

      # Replaces libzmq's socket, unless it is bound: its peers would lose it. The extension calls
      # this too, when a peer vanished in the middle of a message.
      def _recreate
        _exclusive(:request) do
          next false if @endpoints.any? { |how, _, _| how == :bind }
          _reopen
          @settings.each { |id, raw| _set_option(id, raw) }
          @diagnosis&.reset
          @endpoints.each { |_, endpoint, _| _connect(endpoint) }
          true
        end
      end
    end

    # Answers requests.
    module Serve
      # Receives messages and replies with the block's values, until the socket or its context is
      # closed.
      #
      #   rep.serve { |message| message.upcase }
      #
      # When the block raises, `on_error` makes the reply, and serving goes on; without `on_error`
      # it warns, a REP replies with an empty message, and a ROUTER does not reply. (Interrupts such
      # as `Thread#kill` end it.) For a REP a value that is no message counts as an error, since its
      # client waits for a reply. A ROUTER's message and reply begin with the peer's routing id.
      # @param on_error [#call, nil] takes the error and the message, gives the reply
      # @param messages [Boolean] whether the block gets a {Message}, which has {Message#user_id}
      # @yieldparam message [String, Array<String>, Message]
      # @yieldreturn [String, Array<String>] the reply; of a ROUTER nil for none
      # @return [self]
      # @raise [ArgumentValueError] without a block
      # @raise [ArgumentTypeError] when `on_error` cannot be called
      def serve(on_error: nil, messages: false, &block)
        text = "serve needs a block that makes the reply"
        raise Errors.of(ArgumentValueError, :serve, text) unless block
        Errors.check_callable(:serve, "on_error:", on_error)
        while (message = messages ? next_whole : next_message)
          begin
            reply(block.call(message))
          rescue => error
            break if closed? || error.is_a?(ContextTerminatedError)
            recover(on_error, error, message)
          end
        end
        self
      end

      private

      # @return [Message, nil] nil once the socket or its context is closed
      def next_whole
        recv_message(timeout: nil)
      rescue ClosedError, ContextTerminatedError
        nil
      end

      def reply(message)
        send(message) unless message.nil? && type == :ROUTER
      end

      def recover(on_error, error, message)
        return reply(on_error.call(error, message)) if on_error
        Runtime.report("#{inspect}: the block of serve raised", error)
        reply("") if type == :REP
      rescue ClosedError, ContextTerminatedError
        nil
      rescue => again
        Runtime.report("#{inspect}: no reply was sent after an error:", again)
        send("") if type == :REP && !closed?
      end
    end
  end
end
