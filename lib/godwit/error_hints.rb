# frozen_string_literal: true

module Godwit
  # The fixes in error messages that depend on the socket. All other fixes are in api/errors.yml.
  # @private
  module ErrorHints
    RECEIVE_ONLY = %i[SUB PULL GATHER DISH].freeze
    IPV6 = "an IPv6 address needs the option ipv6: true, on the socket or on its Context"
    # Types that accept messages of several frames, except with the option `conflate`.
    CONFLATING = %i[DEALER PUB PUSH].freeze
    # Types whose messages begin with a routing id; libzmq drops a message without a further frame.
    NAMED = %i[ROUTER STREAM].freeze
    SEND_ONLY = %i[PUB PUSH SCATTER RADIO].freeze
    MEMORY_VIEW = "a memory view of the frame is open, or another thread reads it: let that end " \
      "first, or send a dup"
    FIXED_MARK =
      "a high-water mark is fixed by the first bind or connect: give it to the constructor, " \
        "such as PUSH.connect(endpoint, send_hwm: 10)"

    # @return [String, nil] what the user should do; nil: the fix of api/errors.yml is used
    def self.for(what, operation, object, endpoint)
      return FIXED_MARK if what == StateError && operation == :set
      return MEMORY_VIEW if what == Errno::EBUSY::Errno && frame?(object)
      if what == Errno::EMSGSIZE::Errno
        return "over udp a message has at most #{Constants::UDP_BYTES} bytes, a RADIO's " \
          "group and one more byte included"
      end
      return unless object.is_a?(Socket)
      case what
      when Errno::EOPNOTSUPP::Errno then direction(operation, object)
      when Errno::EMFILE::Errno then room(object.context)
      when Header::EFSM then turn(object.type, operation)
      when Errno::ENODEV::Errno then device(object) || ipv6(object, endpoint)
      when Errno::EINVAL::Errno then ipv6(object, endpoint)
      when Errno::ETIMEDOUT::Errno then timed_out(object, operation)
      when Errno::EBUSY::Errno
        "another thread or fiber waits on this socket: use one REQ per thread"
      when Errno::EHOSTUNREACH::Errno then gone(object.type)
      end
    end

    # @return [Exception] for an object that is no message, or no message for this socket
    def self.bad_message(message, operation, socket = nil)
      case message
      when Array
        if message.empty?
          return Errors.of(MessageError, operation, "a message has at least one frame: give a " \
            "String, or an Array of Strings that is not empty")
        end
        index = message.index { |one| !one.is_a?(String) && !frame?(one) }
        return misfit(message.size, operation, socket.type) unless index
        wrong = message[index]
        what = "an Array with #{name(wrong)} at #{index}"
      else
        return misfit(1, operation, socket.type) if message.is_a?(String) || frame?(message)
        wrong = message
        what = name(wrong)
      end
      Errors.of(MessageTypeError, operation, "a message is a String (one frame) or an Array of " \
        "Strings (several), of Frames too: got #{what} (#{as_string(wrong)})")
    end

    def self.as_string(object)
      case object
      when nil then '"" is the empty message'
      when Symbol, Numeric, true, false then "to_s makes a String of it"
      else "JSON.generate makes a String of it, and so does format: :json of the socket"
      end
    end

    # @return [Exception] for `send` and `recv` with more positional arguments than they accept
    def self.too_many(operation, arguments)
      text = "takes one message: got #{arguments.size} (several frames are one Array: " \
        "send([\"a\", \"b\"]))"
      if operation == :recv
        seconds = arguments.first.is_a?(Numeric) ? arguments.first : "seconds"
        text = "takes no argument: got #{Errors.shown(arguments.first)} (seconds are a keyword: " \
          "recv(timeout: #{seconds}))"
      end
      Errors.of(ArgumentValueError, operation, text)
    end

    # @return [Exception] for a message whose form does not fit the socket's type
    def self.misfit(frames, operation, type)
      klass, text =
        if type == :DGRAM
          [MessageError, "a DGRAM's message is an Array of address and body, such as " \
            "[\"127.0.0.1:5555\", \"hello\"]: got #{frames} #{(frames == 1) ? "frame" : "frames"}"]
        elsif NAMED.include?(type)
          forms = "send([id, body])"
          forms = "send([id, \"\", body]) for a REQ, #{forms} for a DEALER" if type == :ROUTER
          [MessageError, "a #{type}'s message begins with its peer's routing id, as it was " \
            "received: #{forms}; got 1 frame"]
        elsif CONFLATING.include?(type)
          [MessageError, "with conflate: true libzmq keeps one frame of a message: got #{frames} " \
            "(join them, or leave conflate: out)"]
        elsif frames != 1
          [MessageError, "a #{type}'s message has one frame: got #{frames} (join them, or take " \
            "another type)"]
        elsif type == :RADIO
          [GroupError, "a RADIO sends to a group: send(message, group: \"name\")"]
        else
          [RoutingIdError, "a #{type} sends to one peer: send(message, routing_id: number), from " \
            "recv_from#{" or connect_peer" if type == :PEER}"]
        end
      Errors.of(klass, operation, text)
    end

    def self.bad_batch(messages)
      Errors.of(MessageTypeError, :send_many, "takes an Array of messages: got #{messages.class}")
    end

    # Tells a Frame by its methods, since mruby has no class Frame.
    def self.frame?(object) = object.respond_to?(:more?)

    def self.name(object) = object.nil? ? "nil" : object.class.to_s

    def self.ipv6(socket, endpoint)
      IPV6 if endpoint.to_s.include?("[") && !socket.ipv6
    end

    def self.device(socket)
      name = socket.bind_to_device or return
      "bind_to_device: #{name.inspect} may be no interface of this machine: take one such as " \
      "eth0, or nil for any"
    end

    def self.direction(operation, socket)
      type = socket.type
      name = operation.to_s
      sends = name.start_with?("send") || name.include?("writable")
      receives = name.start_with?("recv") || name.include?("readable")
      if RECEIVE_ONLY.include?(type) && sends
        "a #{type} only receives: send on its peer, or use another type"
      elsif SEND_ONLY.include?(type) && receives
        "a #{type} only sends: receive on its peer, or use another type"
      end
    end

    def self.gone(type)
      return unless %i[SERVER PEER].include?(type)
      "the peer of this routing_id has gone, or never was: one that comes back has another number"
    end

    def self.room(context)
      "either #{context.max_sockets} sockets (max_sockets: of its Context) or the open files of " \
      "this process (ulimit -n) are used up: close some, or raise the limit"
    end

    def self.turn(type, operation)
      if type == :REP
        "a REP receives and sends in turn: receive a request first, then send its reply"
      elsif type == :REQ && operation.to_s.start_with?("recv")
        "a REQ sends and receives in turn: send a request first, then receive its reply"
      elsif type == :REQ
        "a REQ sends and receives in turn: receive the reply first, use `request`, or make it " \
        "with relaxed: true, correlate: true"
      end
    end

    # @return [String, Diagnosis::Finding] the text `count`; with it the reason, if one is known
    def self.too_few_peers(socket, count)
      finding = socket.finding(:wait_connected)
      finding = nil if finding&.reason == :silent && socket.type != :PUB
      behind(count, finding)
    end

    # The hint for a wait of an object, such as a Logger::Reader, that timed out on its socket.
    def self.nothing_came(socket, text) = behind(text, socket.finding_now)

    def self.behind(text, finding)
      return text unless finding
      finding.dup.tap { |both| both.text = "#{text}; #{finding.text}" }
    end

    # Returns the fix for a time-out: a String, a Finding (with reason and endpoint), or nil.
    def self.timed_out(socket, operation)
      if socket.endpoints.empty?
        "the socket is neither bound nor connected"
      elsif socket.type == :SUB && !socket.subscribed?
        "a SUB receives nothing before it subscribes: subscribe(\"\") asks for all messages"
      elsif (finding = socket.finding(operation))
        finding
      elsif operation.to_s.start_with?("send")
        "no peer took it: none is connected, or its high-water mark is reached"
      end
    end
  end
end
