# frozen_string_literal: true

module Godwit
  class Socket
    # A request and its reply in one call.
    module Request
      # Sends a message and receives its reply. When no reply comes, the socket stays usable:
      # libzmq's socket is replaced, so that a late reply is dropped (the Guide's Lazy Pirate). A
      # REQ that is bound, or is `relaxed: true, correlate: true`, keeps libzmq's socket. Other
      # threads and fibers that call `request` wait for the end of this exchange.
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
      # @raise [RemoteError] when the reply is an error ({Serve#serve}, {ErrorReply})
      # @raise [ArgumentValueError, ArgumentTypeError] for wrong `retries:` or `timeout:`
      # @raise [UnsupportedError] in a trap handler, which cannot wait for another exchange
      # @raise [Error] as {Messages#send} and {Messages#recv}
      # @see https://zguide.zeromq.org/docs/chapter4/#Client-Side-Reliability-Lazy-Pirate-Pattern
      def request(message, timeout: Timeout::UNSET, retries: 0, exception: true)
        unless retries.is_a?(Integer) && !retries.negative?
          raise Errors.bad_value(:request, "retries:", "a number, 0 or more", retries)
        end
        limit = Timeout::UNSET.equal?(timeout) ? recv_timeout : timeout
        Timeout.check(limit)
        reply = in_turn { try_often(message, limit, retries) }
        return reply unless reply.is_a?(String) && ErrorReply.mark?(reply)
        raise ErrorReply.error(reply, :request, endpoints.first)
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
        spare = copy_of(message) if retries.positive? && !spent?(message)
        begin
          exchange(message, limit)
        rescue TimeoutError => error
          raise error if (tries += 1) > retries || @recreate_first
          message = copy_of(spare) if spent?(message)
          retry
        end
      end

      def copy_of(message)
        return message.map { |frame| copy_of(frame) } if message.is_a?(Array)
        message.respond_to?(:gone?) ? message.dup : message
      end

      def spent?(message)
        return message.any? { |frame| spent?(frame) } if message.is_a?(Array)
        message.respond_to?(:gone?) && message.gone?
      end

      # Sends and receives. Interrupts arrive only in the waits, not while the socket is replaced.
      def exchange(message, limit)
        Runtime.defer_interrupts do
          start = Timeout.now
          begun = true
          begin
            _send(message, Timeout.milliseconds(limit), nil) or raise timeout_error(:send)
          rescue Error => error
            begun = false # the request was not sent: no reply can come
            reconnect if error.is_a?(TimeoutError)
            raise error
          end
          remaining = Timeout.milliseconds(Timeout.remaining(limit, start))
          reply = _recv(remaining) or raise timeout_error(:recv)
        ensure
          drop_reply if begun && reply.nil? && !closed?
        end
      end

      # Recreates libzmq's socket, so that the next request gets no late reply. An error here must
      # not replace the error of the exchange: the next request tries again, and raises it.
      def drop_reply
        recreate
      rescue Error
        nil
      end

      def recreate
        @recreate_first = true
        unless %i[relaxed correlate].all? { |name| @settings[Options.fetch(name).id] == 1 }
          # A bound socket is not recreated. `correlate` makes libzmq drop late replies there.
          _recreate || %i[relaxed correlate].each { |name| set(name, true) }
        end
        @recreate_first = false
      rescue ContextTerminatedError
        nil # the next call on the socket raises this error
      end

      # Connects again after the time-out of a send: after an authenticator's refusal (status 400)
      # libzmq does not connect by itself. An error of this call must not replace the TimeoutError.
      def reconnect
        _recreate
      rescue Error
        @recreate_first = true
      end

      # Replaces libzmq's socket, unless it is bound: its peers would lose the connection. The
      # extension also calls this method, when a peer vanished in the middle of a message.
      def _recreate
        _exclusive(:request) do
          next false if binds?
          _reopen
          @settings.each { |id, raw| _set_option(id, raw) }
          @diagnosis&.reset
          @endpoints.each { |_, endpoint, _| _connect(endpoint) }
          true
        end
      end
    end
  end
end
