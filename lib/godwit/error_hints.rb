# frozen_string_literal: true

module Godwit
  # What to do about an error where the table (api/errors.yml) cannot know, since it depends on the
  # socket.
  # @private
  module ErrorHints
    RECEIVE_ONLY = %i[SUB PULL GATHER DISH].freeze
    SEND_ONLY = %i[PUB PUSH SCATTER RADIO].freeze
    FIXED_MARK =
      "a high-water mark is fixed by the first bind or connect: give it to the constructor, " \
        "such as PUSH.connect(endpoint, send_hwm: 10)"

    module_function

    # @param what [Integer, Class] errno, or the class of the error
    # @param operation [Symbol]
    # @param object [Socket, Context]
    # @param endpoint [String, nil]
    # @return [String, nil] the fix; nil leaves it to the table
    def for(what, operation, object, endpoint)
      return FIXED_MARK if what == StateError && operation == :set
      case what
      when Errno::EOPNOTSUPP::Errno
        direction(operation, object)
      when Errno::EMFILE::Errno
        room(object)
      when Header::EFSM
        turn(object, operation)
      when Errno::ENODEV::Errno
        device(object) || ipv6(object, endpoint)
      when Errno::EINVAL::Errno
        ipv6(object, endpoint)
      when Errno::ETIMEDOUT::Errno
        patience(object, operation)
      when Errno::EBUSY::Errno
        busy(object)
      when Errno::EHOSTUNREACH::Errno
        gone(object)
      when Errno::EMSGSIZE::Errno
        "over udp a message has at most #{Socket::Drafts::UDP_LIMIT} bytes, a RADIO's group and " \
        "one more byte included"
      end
    end

    # @return [Exception] for what is no message, or none for this socket
    def bad_message(message, operation, socket = nil)
      case message
      when Array
        if message.empty?
          return (
            MessageError.new(
              "#{operation}: a message has at least one frame: give a String, or an Array of " \
              "Strings that is not empty",
              operation: operation
            )
          )
        end
        index = message.index { |part| !part.is_a?(String) && !part.is_a?(Frame) }
        return misfit(message.size, operation, socket) unless index
        what = "an Array with #{name(message[index])} at #{index}"
      when String, Frame
        return misfit(1, operation, socket)
      else
        what = name(message)
      end
      MessageTypeError.new(
        "#{operation}: a message is a String (one frame) or an Array of Strings (several), of " \
        "Frames too: got #{what}",
        operation: operation
      )
    end

    # @return [Exception] for a message whose form is not that of the socket's type
    def misfit(frames, operation, socket)
      type = socket.type
      if type == :DGRAM
        return (
          MessageError.new(
            "#{operation}: a DGRAM's message is an Array of address and body, such as " \
            "[\"127.0.0.1:5555\", \"hello\"]: " \
              "got #{frames} #{(frames == 1) ? "frame" : "frames"}",
            operation: operation
          )
        )
      elsif frames != 1
        return (
          MessageError.new(
            "#{operation}: a #{type}'s message has one frame: got #{frames} (join them, or take " \
            "another type)",
            operation: operation
          )
        )
      elsif type == :RADIO
        return (
          GroupError.new(
            "#{operation}: a RADIO sends to a group: send(message, group: \"name\")",
            operation: operation
          )
        )
      end
      RoutingIdError.new(
        "#{operation}: a #{type} sends to one peer: send(message, routing_id: number), from " \
        "recv_from#{" or connect_peer" if type == :PEER}",
        operation: operation
      )
    end

    # @return [Exception] for what is no list of messages
    def bad_batch(messages)
      MessageTypeError.new(
        "send_many: takes an Array of messages: got #{messages.class}", operation: :send_many
      )
    end

    def ipv6(object, endpoint)
      return unless object.is_a?(Socket) && endpoint.to_s.include?("[") && !object.ipv6
      "an IPv6 address needs the option ipv6: true, on the socket or on its Context"
    end

    def device(object)
      return unless object.is_a?(Socket) && (name = object.bind_to_device)
      "bind_to_device: #{name.inspect} may be no interface of this machine: take one such as " \
      "eth0, or nil for any"
    end

    def busy(object)
      case object
      when Frame
        "a memory view of the frame is open, or another thread reads it: let that end first, or " \
        "send a dup"
      when Socket
        "another thread or fiber waits on this socket: use one REQ per thread"
      end
    end

    def name(object)
      object.nil? ? "nil" : object.class.to_s
    end

    def direction(operation, socket)
      return unless socket.is_a?(Socket)
      type = socket.type
      if RECEIVE_ONLY.include?(type) && operation.match?(/\Asend|writable/)
        return "a #{type} only receives: send on its peer, or use another type"
      end
      if SEND_ONLY.include?(type) && operation.match?(/\Arecv|readable/)
        return "a #{type} only sends: receive on its peer, or use another type"
      end
      nil
    end

    def gone(object)
      return unless object.is_a?(Socket) && %i[SERVER PEER].include?(object.type)
      "the peer of this routing_id has gone, or never was: one that comes back has another number"
    end

    def room(object)
      return unless object.is_a?(Socket)
      context = object.context
      "either #{context.max_sockets} sockets (max_sockets: of its Context) or the open files of " \
      "this process (ulimit -n) " \
        "are used up: close some, or raise the limit"
    end

    def turn(socket, operation)
      return unless socket.is_a?(Socket)
      case socket.type
      when :REQ
        if operation.start_with?("recv")
          return "a REQ sends and receives in turn: send a request first, then receive its reply"
        end
        "a REQ sends and receives in turn: receive the reply first, use `request`, or make it " \
        "with relaxed: true, correlate: true"
      when :REP
        "a REP receives and sends in turn: receive a request first, then send its reply"
      end
    end

    def patience(socket, operation)
      return unless socket.is_a?(Socket)
      if socket.endpoints.empty?
        "the socket is neither bound nor connected"
      elsif socket.type == :SUB && !socket.subscribed?
        "a SUB receives nothing before it subscribes: subscribe(\"\") asks for all messages"
      elsif operation.to_s.start_with?("send")
        "no peer took it: none is connected, or its high-water mark is reached"
      end
    end
  end
end
