# frozen_string_literal: true

module Godwit
  class Socket
    # Extends only sockets with a `format:`. A message is a value, whose frame the format makes. In
    # types with frames before the value (routing ids, a topic) a message is an Array that ends with
    # the value. Frames and Messages are sent unchanged; methods that receive frames do not decode.
    # @private
    module Formatted
      # Types with frames before the value. In one direction two types have no values: an XPUB
      # receives subscriptions, and an XSUB sends them.
      BEFORE = %i[ROUTER PUB SUB XPUB XSUB DGRAM].freeze
      WITHOUT = {XPUB: :recv, XSUB: :send}.freeze
      # Lets {Drafts::Routed#recv_from} return the sender's routing id and the value.
      module From
        def recv_from(**options) = beside(super, :recv_from)
      end

      # Lets {Drafts::Groups#recv_with_group} return the group and the value.
      module WithGroup
        def recv_with_group(**options) = beside(super, :recv_with_group)
      end
      BESIDE = {SERVER: [From], PEER: [From], DISH: [WithGroup]}.freeze

      def self.check(socket, format)
        return if format.nil?
        return Formats.find(format, :new).last unless socket.type == :STREAM
        raise Errors.of(ArgumentValueError, :new, "format: is not for a STREAM: the peers' bytes " \
          "are no messages")
      end

      def self.start(socket, format)
        return unless format
        type = socket.type
        socket.instance_variable_set(:@format, format)
        socket.instance_variable_set(:@before, BEFORE.include?(type))
        socket.instance_variable_set(:@without, WITHOUT[type])
        socket.extend(self, *BESIDE[type])
      end

      def send(value, *rest, **options) = super(encode(value, :send), *rest, **options)
      def <<(value) = send(value)
      def send_nonblock(value, **options) = super(encode(value, :send_nonblock), **options)

      def send_many(values, **options)
        values = values.map { |value| encode(value, :send_many) } if values.is_a?(Array)
        super
      rescue FormatError => error
        error.sent ||= 0
        raise
      end

      # Calls `super` without keywords if possible, since that is faster.
      def recv(*surplus, timeout: UNSET, exception: true)
        message = (surplus.empty? && UNSET.equal?(timeout) && exception) ? super() : super
        message.nil? ? nil : decode(message, :recv)
      end

      def recv_nonblock(**options)
        message = super
        message.is_a?(Symbol) ? message : decode(message, :recv_nonblock)
      end

      def recv_many(*most, **options)
        messages = super or return
        wrong = nil
        values = messages.map do |message|
          decode(message, :recv_many)
        rescue FormatError => error
          wrong ||= error
          error
        end
        return values unless wrong
        raise FormatError.new("#{wrong.message}; this error's batch has the other values",
          operation: :recv_many, endpoint: wrong.endpoint, bytes: wrong.bytes,
          frames: wrong.frames, batch: values), cause: wrong.cause
      end

      def recv_multipart(**options) = recv_message(**options)&.to_a

      def recv_string(**options)
        frames = recv_multipart(**options) or return
        raise multipart(:recv_string, frames) if frames.size > 1
        frames.first
      end

      def each
        return to_enum(:each) unless block_given?
        super { |message| yield decode(message, :each) }
      end

      def request(value, **options)
        reply = super(encode(value, :request), **options)
        reply.nil? ? nil : decode(reply, :request)
      end

      def serve(on_error: nil, messages: false, &block)
        return super if messages || !block
        recover = ->(error, message) { on_error.call(error, value_of(message)) } if on_error
        super(on_error: recover) { |message| block.call(decode(message, :serve)) }
      end

      private

      # @return [String, Array<String>, nil] the next message, not decoded; nil: closed
      def next_message
        _recv(-1)
      rescue ClosedError, ContextTerminatedError
        nil
      end

      def reply(value, address)
        return super if value.is_a?(Exception) || (value.nil? && address)
        send_encoded(unmarked(encode(value, :serve), address))
      end

      def beside(received, operation)
        received && [received[0], decode(received[1], operation)]
      end

      # @return [Object] the value; the message itself if it does not decode
      def value_of(message)
        decode(message, :serve)
      rescue FormatError
        message
      end

      def encode(value, operation)
        return value if value.is_a?(Message) || @without == :send
        return dump(value, operation) unless @before
        unless value.is_a?(Array) && !value.empty?
          raise Errors.of(MessageTypeError, operation, "with format: a #{type} sends an Array, " \
            "#{form}: got #{Errors.shown(value)}")
        end
        *before, last = value
        [*before, dump(last, operation)]
      end

      def form
        case type
        when :ROUTER then "[routing id, value], or [routing id, \"\", value] to a REQ"
        when :DGRAM then "[address, value]"
        else "[topic, value]"
        end
      end

      def dump(value, operation)
        value.is_a?(Frame) ? value : @format.dump(value)
      rescue FormatError => error
        raise failure(operation, error.message), cause: error.cause
      end

      # @raise [RemoteError] when the reply to a REQ is an error
      def decode(message, operation)
        return message if @without == :recv
        unless message.is_a?(Array)
          value = load(message, message, operation)
          return @before ? [value] : value
        end
        *before, last = message
        return [*before, load(last, message, operation)] if @before
        raise failure(operation, "a message of #{message.size} frames: with format: a #{type} " \
          "has one (recv_multipart receives the frames)", frames: message)
      end

      def load(bytes, message, operation)
        if type == :REQ && ErrorReply.mark?(bytes)
          raise ErrorReply.error(bytes, operation, endpoints.first)
        end
        @format.load(bytes)
      rescue FormatError => error
        raise failure(operation, "#{error.message} (both sides need the same format:)",
          bytes: bytes, frames: [*message]), cause: error.cause
      end

      def failure(operation, text, **came)
        FormatError.new("#{operation}: #{text}", operation: operation, endpoint: endpoints.first,
          **came)
      end
    end
  end
end
