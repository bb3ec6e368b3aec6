# frozen_string_literal: true

module Godwit
  class Socket
    # Answers requests.
    module Serve
      # Receives messages and replies with the block's values, until the socket or its context is
      # closed.
      #
      #   rep.serve { |message| message.upcase }
      #
      # **Errors**: when the block raises, serving goes on. The client's {Request#request} raises
      # {RemoteError} with the error's class and message, and the server warns with the backtrace.
      # A block's value that is no message has the same effect. An exception as the block's value,
      # or a raised {RemoteError}, is a reply that the server chose: without a warning. `on_error`
      # makes another reply. (Interrupts such as `Thread#kill` end `serve`.)
      #
      # **ROUTER**: message and reply begin with the peer's routing id; an exception needs none. An
      # error that the server did not choose goes only to a REQ: other peers may expect no reply.
      # @param on_error [#call, nil] takes the error and the message, returns the reply: the same
      #   values as the block
      # @param messages [Boolean] whether the block gets a {Message}, which has {Message#user_id};
      #   its frames are not decoded by `format:`
      # @yieldparam message [String, Array<String>, Message]
      # @yieldreturn [String, Array<String>, Exception] the reply; on a ROUTER nil sends no reply
      # @return [self]
      # @raise [ArgumentValueError] without a block
      # @raise [ArgumentTypeError] when `on_error` cannot be called
      def serve(on_error: nil, messages: false, &block)
        text = "serve needs a block that makes the reply"
        raise Errors.of(ArgumentValueError, :serve, text) unless block
        Errors.check_callable(:serve, "on_error:", on_error)
        routes = type == :ROUTER
        while (message = messages ? next_whole : next_message)
          address = address_of(message) if routes
          begin
            reply(block.call(message), address)
          rescue => error
            break if closed? || error.is_a?(ContextTerminatedError)
            recover(on_error, error, message, address)
          end
        end
        self
      end

      private

      def next_whole
        recv_message(timeout: nil)
      rescue ClosedError, ContextTerminatedError
        nil
      end

      # Copies the routing id and a REQ's empty frame, since the block may change the message.
      def address_of(message)
        id, delimiter, body = message.first(3)
        (body && delimiter.empty?) ? [id.to_s, ""] : [id.to_s]
      end

      # @param address [Array<String>, nil] on a ROUTER, the frames to send before the reply
      def reply(value, address)
        unless value.is_a?(String)
          return if value.nil? && address
          return send_error(value, address) if value.is_a?(Exception)
          raise no_reply(value) unless value.respond_to?(:last) || ErrorHints.frame?(value)
        end
        send(unmarked(value, address))
      end

      # @raise [MessageError] when the client would mistake the reply for an error
      def unmarked(message, address)
        frame = message
        frame = message.last if message.respond_to?(:last) && (address || message.size == 1)
        return message unless frame.respond_to?(:getbyte) && ErrorReply.mark?(frame)
        raise Errors.of(MessageError, :serve, "the reply begins with the bytes of an error, " \
          "ErrorReply::MARK: put another frame before it, or return an exception for an error")
      end

      def no_reply(value)
        Errors.of(MessageTypeError, :serve, "the block returned #{ErrorHints.name(value)}: it " \
          "returns the reply, a String or an Array of Strings, or an exception for an error " \
          "(#{ErrorHints.as_string(value)})")
      end

      def send_error(error, address)
        send_encoded([*address, ErrorReply.dump(error)])
      end

      # Sends a message as `send` does, but without `format:`: the message is encoded already.
      def send_encoded(message)
        _send(message, nil, nil) or raise timeout_error(:send)
      end

      def recover(on_error, error, message, address)
        return reply(on_error.call(error, message), address) if on_error
        chosen = error.is_a?(RemoteError)
        Runtime.report("#{inspect}: the block of serve raised", error) unless chosen
        send_error(error, address) if chosen || waits?(address)
      rescue ClosedError, ContextTerminatedError
        nil
      rescue => again
        Runtime.report("#{inspect}: the reply to an error failed:", again)
        send_error(again, address) if waits?(address) && !closed?
      end

      # Tells whether the peer is a REQ, which waits for a reply.
      def waits?(address) = address.nil? || address.size == 2
    end
  end
end
