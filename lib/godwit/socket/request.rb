# frozen_string_literal: true

module Godwit
  class Socket
    # One question, one answer.
    module Request
      # Sends a message and receives its reply. Unlike `send` and `recv`, it leaves the socket
      # usable when no reply comes: the socket is made anew in its place, so that a late reply is
      # dropped (the Guide's Lazy Pirate). One exchange at a time: other threads and fibers that
      # call it wait for their turn.
      #
      #   req.request("hello", timeout: 0.5, retries: 3)
      #
      # A REQ that is bound, or is `relaxed: true, correlate: true`, stays as it is and just sends
      # again.
      #
      # @param message [String, Frame, Array<String, Frame>, Message] frames are gone once they were
      #   sent; another try sends copies, which share their bytes
      # @param timeout [Integer, Float, nil] seconds for each try, sending included; nil: for ever;
      #   not given: `recv_timeout`
      # @param retries [Integer] how often to try again after the first time-out
      # @param exception [Boolean] false: nil instead of a TimeoutError
      # @return [String, Array<String>] the reply; nil when the last try got none and `exception:
      #   false`
      # @raise [TimeoutError] when the last try got no reply
      # @raise [ArgumentValueError, ArgumentTypeError] when `retries:` or `timeout:` is not allowed
      # @raise [UnsupportedError] in a trap handler, where it could not wait for its turn: start a
      #   Thread there
      # @raise [Error] as {Messages#send} and {Messages#recv}
      # @see https://zguide.zeromq.org/docs/chapter4/#Client-Side-Reliability-Lazy-Pirate-Pattern
      def request(message, timeout: Timeout::UNSET, retries: 0, exception: true)
        unless retries.is_a?(Integer) && !retries.negative?
          raise Errors.bad_value(:request, "retries:", "a number, 0 or more", retries)
        end
        limit = timeout_or(timeout, :recv_timeout)
        Timeout.milliseconds(limit) # refuses what is no duration
        in_turn { try_often(message, limit, retries) }
      rescue TimeoutError
        raise if exception
      end

      private

      def in_turn
        mine = false
        @request_lock.synchronize do
          mine = true
          yield
        end
      rescue ThreadError
        raise if mine
        raise Errors.build(
          UnsupportedError, :request, endpoints.first,
          "a trap handler cannot wait for its turn: start a Thread there"
        )
      end

      def try_often(message, limit, retries)
        renew if @renewal_due
        tries = 0
        kept = again(message) if retries.positive? && !spent?(message)
        begin
          exchange(message, limit)
        rescue TimeoutError
          raise if (tries += 1) > retries || @renewal_due
          message = again(kept) if spent?(message)
          retry
        end
      end

      def again(message)
        case message
        when Frame, Message then message.dup
        when Array then message.map { |part| part.is_a?(Frame) ? part.dup : part }
        else message
        end
      end

      def spent?(message)
        case message
        when Frame, Message then message.gone?
        when Array then message.any? { |part| part.is_a?(Frame) && part.gone? }
        else false
        end
      end

      # Interrupts are taken only where it waits, and never while the socket is made anew.
      def exchange(message, limit)
        Thread.handle_interrupt(Object => :on_blocking) do
          start = Timeout.now
          begun = true
          begin
            send(message, timeout: limit)
          rescue Error
            begun = false # it was not sent
            raise
          end
          reply = recv(timeout: Timeout.left(limit, start))
        ensure
          clear_away if begun && reply.nil? && !closed?
        end
      end

      # Also when it was interrupted: the next request shall not find it waiting for this one's
      # reply. What goes wrong here must not take the place of the error on its way; the next
      # request tries again first, and says it.
      def clear_away
        renew
      rescue Error
        nil
      end

      def renew
        @renewal_due = true
        return @renewal_due = false if %i[relaxed correlate].all? { |name|
          @settings[Options.fetch(name).id] == 1
        }
        # Relaxed alone would take a late reply for the next.
        _recreate || %i[relaxed correlate].each { |name| set(name, true) }
        @renewal_due = false
      rescue ContextTerminatedError
        nil # there is nothing to be made anew; the caller hears of it
      end

      # Makes the socket anew in its place, unless it is bound: its peers would lose it. The
      # extension calls this too, when a peer vanished in mid-message.
      # @return [Boolean] whether it did
      def _recreate
        _exclusive(:request) do
          next false if @endpoints.any? { |how, _, _| how == :bind }
          _reopen
          @settings.each { |id, raw| _set_option(id, raw) }
          @endpoints.each { |_, endpoint, _| _connect(endpoint) }
          true
        end
      end
    end

    # Answering.
    module Serve
      # Receives messages and sends back what the block makes of each, until the socket or its
      # context is closed.
      #
      #   rep.serve { |message| message.upcase }
      #
      # A block that raises does not end it: `on_error` makes the reply then; by default the error
      # is warned of, the client of a REP receives an empty message, and that of a ROUTER nothing.
      # (Interrupts such as `Thread#kill` do end it.) A block that gives a REP nil, or what is no
      # message, counts as one that raised: a REP has to reply before it receives again, and its
      # client waits. With a ROUTER the message and the reply begin with the peer's routing id.
      #
      # @param on_error [#call, nil] takes the error and the message, gives the reply; nil: no reply
      #   (ROUTER)
      # @param messages [Boolean] whether the block gets a {Message}, which has {Message#user_id}
      # @yieldparam message [String, Array<String>, Message]
      # @yieldreturn [String, Array<String>] the reply; a ROUTER may give nil for none
      # @return [self]
      # @raise [ArgumentValueError] without a block
      # @raise [ArgumentTypeError] when `on_error` cannot be called
      def serve(on_error: nil, messages: false)
        unless block_given?
          raise ArgumentValueError.new(
            "serve needs a block that makes the reply", operation: :serve
          )
        end
        unless on_error.nil? || on_error.respond_to?(:call)
          raise Errors.bad_type(:serve, "on_error:", "what can be called, or nil", on_error)
        end
        while (message = messages ? next_whole : next_message)
          begin
            reply(yield(message))
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
        warn "#{inspect}: the block of serve raised #{error.full_message(highlight: false)}"
        reply("") if type == :REP
      rescue ClosedError, ContextTerminatedError
        nil
      rescue => again
        warn "#{inspect}: no reply could be sent after an " \
          "error: #{again.full_message(highlight: false)}"
        send("") if type == :REP && !closed?
      end
    end
  end
end
