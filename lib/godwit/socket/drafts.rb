# frozen_string_literal: true

module Godwit
  class Socket
    # The methods of the draft types in addition to {Messages}. Their messages have one frame and a
    # group or a routing id. On a libzmq without drafts `new` raises {UnsupportedError}.
    module Drafts
      # Most bytes of a group's name; over udp {UDP_GROUP_LIMIT}.
      GROUP_LIMIT = 255
      # Most bytes of a group's name over udp: libzmq's receiver crashes at a longer one.
      UDP_GROUP_LIMIT = Constants::UDP_GROUP_BYTES
      # Most bytes of a message over udp. For a {RADIO} the group's name and one more byte count
      # too.
      UDP_LIMIT = Constants::UDP_BYTES

      module_function

      # @private
      def group(name, operation)
        raise Errors.bad_type(operation, "a group", "a String", name) unless name.is_a?(String)
        return name if name.bytesize <= GROUP_LIMIT && !name.include?("\0")
        raise Errors.of(GroupError, operation, "a group's name has at most #{GROUP_LIMIT} bytes, " \
          "none of them NUL: got #{Errors.shown(name)}")
      end

      # @private
      def routing_id(id, operation)
        return id if id.is_a?(Integer) && id.between?(1, 0xFFFF_FFFF)
        raise Errors.of(RoutingIdError, operation,
          "routing_id: takes the number of a peer, as recv_from gives it: got #{Errors.shown(id)}")
      end

      # The groups that a {DISH} receives.
      module Groups
        # Receives messages to these groups from now on. A RADIO drops messages to a group until the
        # DISH's join has reached it.
        # @param groups [Array<String>] each of at most 255 bytes without NUL; "" is a group too
        # @return [self]
        # @raise [GroupError] when the socket is in that group already, or the name is too long
        # @raise [ArgumentTypeError] when a group is no String
        # @see http://api.zeromq.org/4-3:zmq-join zmq_join(3)
        def join(*groups) = change(:join, groups, true) { |known, name| known + [name.dup.freeze] }

        # Undoes {#join}.
        # @param groups [Array<String>]
        # @return [self]
        # @raise [GroupError] when the socket is not in that group
        # @raise [ArgumentTypeError] when a group is no String
        # @see http://api.zeromq.org/4-3:zmq-leave zmq_leave(3)
        def leave(*groups)
          change(:leave, groups, false) { |known, name| known.reject { |one| one.b == name.b } }
        end

        # @return [Array<String>] the groups that the socket has joined, the oldest first
        def groups = @groups.dup

        # Receives as {Messages#recv} does, and gives the message's group too.
        # @param (see Messages#recv)
        # @return [Array(String, String)] group and message; nil when time is up and `exception:
        #   false`
        # @raise [Error] as {Messages#recv}
        def recv_with_group(timeout: UNSET, exception: true)
          frame = _recv_frame(Timeout.milliseconds(timeout)) or
            return timed_out(:recv_with_group, exception)
          [frame.group || +"", frame.to_s]
        end

        private

        def change(operation, groups, joins)
          groups.each { |name| Drafts.group(name, operation) }
          groups.each do |name|
            _exclusive(operation) do
              _set_group(name, joins)
              _record(:@groups) { |known| yield known, name }
            end
          end
          self
        end
      end

      # Sends a message to a group or to one peer.
      module Addressed
        private

        def frame(message, operation)
          message = message.frames if message.is_a?(Message)
          message = message.first if message.is_a?(Array) && message.size == 1
          unless message.is_a?(String) || message.is_a?(Frame)
            raise ErrorHints.bad_message(message, operation, self)
          end
          message
        end

        def send_to(message, to, timeout, exception, track)
          tracker = Tracker.new if track
          sent = _send_to(frame(message, :send), to, Timeout.milliseconds(timeout), tracker)
          return timed_out(:send, exception) unless sent
          track ? tracker.sent : self
        end

        def send_to_nonblock(message, to, exception)
          return self if _send_to(frame(message, :send_nonblock), to, 0, nil)
          would_block(:send_nonblock, exception)
        end

        def send_many_to(messages, to, timeout)
          raise ErrorHints.bad_batch(messages) unless messages.is_a?(Array)
          frames = nil
          send_all(messages.size, timeout) do |sent, milliseconds|
            frames ||= messages.map { |message| frame(message, :send_many) }
            _send_to(frames[sent], to, milliseconds, nil) ? 1 : 0
          end
        end
      end

      # The messages of a {RADIO}: each goes to a group.
      module Grouped
        include Addressed

        # Sends a message to all peers that joined a group; libzmq drops it when none has.
        # @param message [String, Frame, Message, Array(String)] of one frame; over udp, message and
        #   group have at most 8,191 bytes
        # @param group [String] at most 255 bytes without NUL; over udp 127
        # @param timeout [Integer, Float, nil] seconds; `send` waits only with `xpub_no_drop: true`
        # @param track [Boolean] whether to give a {Tracker}, as {Messages#send}
        # @param exception [Boolean] false: nil instead of a TimeoutError
        # @return [self, Tracker] or nil when time is up and `exception: false`
        # @raise [GroupError] without a group, or for a name that is too long
        # @raise [MessageError] when the message has several frames
        # @raise [Errno::EMSGSIZE, Errno::ENAMETOOLONG] (each a {SystemError}) when the message, or
        #   its group, is too large for udp
        # @raise [Error] as {Messages#send}
        def send(message, group: UNSET, timeout: UNSET, exception: true, track: false)
          # super raises an error that names the missing keyword.
          return super(message, timeout: timeout, exception: exception) if UNSET.equal?(group)
          send_to(message, Drafts.group(group, :send), timeout, exception, track)
        end

        # (see Messages#send_nonblock)
        # @param group [String] as {#send}
        def send_nonblock(message, group: UNSET, exception: true)
          return super(message, exception: exception) if UNSET.equal?(group)
          send_to_nonblock(message, Drafts.group(group, :send_nonblock), exception)
        end

        # (see Messages#send_many)
        # @param group [String] as {#send}, for all messages
        def send_many(messages, group: UNSET, timeout: UNSET)
          return super(messages, timeout: timeout) if UNSET.equal?(group)
          send_many_to(messages, Drafts.group(group, :send_many), timeout)
        end
      end

      # The messages of {SERVER} and {PEER}: each has the routing id of its peer, a number.
      module Routed
        include Addressed

        # Sends a message to one peer; waits while its queue is full.
        # @param message [String, Frame, Message, Array(String)] of one frame
        # @param routing_id [Integer] the peer's, from {#recv_from} or
        #   {Connecting#connect_peer}
        # @param timeout [Integer, Float, nil] seconds
        # @param track [Boolean] whether to give a {Tracker}, as {Messages#send}
        # @param exception [Boolean] false: nil instead of a TimeoutError
        # @return [self, Tracker] or nil when time is up and `exception: false`
        # @raise [RoutingIdError] without a routing id
        # @raise [UnreachableError] when that peer is gone
        # @raise [MessageError] when the message has several frames
        # @raise [Error] as {Messages#send}
        def send(message, routing_id: UNSET, timeout: UNSET, exception: true, track: false)
          # super raises an error that names the missing keyword.
          return super(message, timeout: timeout, exception: exception) if UNSET.equal?(routing_id)
          send_to(message, Drafts.routing_id(routing_id, :send), timeout, exception, track)
        end

        # (see Messages#send_nonblock)
        # @param routing_id [Integer] as {#send}
        def send_nonblock(message, routing_id: UNSET, exception: true)
          return super(message, exception: exception) if UNSET.equal?(routing_id)
          send_to_nonblock(message, Drafts.routing_id(routing_id, :send_nonblock), exception)
        end

        # (see Messages#send_many)
        # @param routing_id [Integer] as {#send}, for all messages
        def send_many(messages, routing_id: UNSET, timeout: UNSET)
          return super(messages, timeout: timeout) if UNSET.equal?(routing_id)
          send_many_to(messages, Drafts.routing_id(routing_id, :send_many), timeout)
        end

        # Receives as {Messages#recv} does, and gives the sender's routing id, for `send(reply,
        # routing_id: id)`.
        # @param (see Messages#recv)
        # @return [Array(Integer, String)] routing id and message; nil when time is up and
        #   `exception: false`
        # @raise [Error] as {Messages#recv}
        def recv_from(timeout: UNSET, exception: true)
          frame = _recv_frame(Timeout.milliseconds(timeout)) or
            return timed_out(:recv_from, exception)
          [frame.routing_id, frame.to_s]
        end
      end

      # Connects a {PEER}, and gives the new peer's routing id before any message.
      module Connecting
        # Connects, as {Endpoints#connect}, and returns the routing id of the peer at the endpoint.
        # The caller can then send before the peer does.
        # @param endpoint [String]
        # @return [Integer] the routing id, for `send(message, routing_id:)`
        # @raise [OptionError] with `immediate: true`: then a peer has no id until it is connected
        # @raise [Error] as {Endpoints#connect}
        # @see http://api.zeromq.org/4-3:zmq-connect-peer zmq_connect_peer(3)
        def connect_peer(endpoint)
          endpoint = check_endpoint(endpoint, :connect)
          if @settings[Options.fetch(:immediate).id] == 1
            raise Errors.of(OptionError, :connect_peer,
              "there is no number before the peer is there: set immediate: false")
          end
          _exclusive(:connect_peer) do
            id = _connect_peer(endpoint)
            record_endpoint(:connect, endpoint)
            id
          end
        end
      end

      # The messages of a {DGRAM}: each has two frames, address and body.
      module Datagrams
        ADDRESS = /\A\d{1,3}(?:\.\d{1,3}){3}:\d{1,5}\z/
        private_constant :ADDRESS

        # Sends a datagram, which may be lost without notice.
        # @param message [Array(String, String), Message] address, such as "127.0.0.1:5555", and
        #   body, of at most 8,192 bytes
        # @param timeout [Integer, Float, nil] seconds
        # @param exception [Boolean] false: nil instead of a TimeoutError
        # @param track [Boolean] whether to give a {Tracker}, as {Messages#send}
        # @return [self, Tracker] or nil when time is up and `exception: false`
        # @raise [MessageError] for a message of another form, or a malformed address
        # @raise [Errno::EMSGSIZE] (a {SystemError}) when the body is too large
        # @raise [Error] as {Messages#send}
        def send(message, timeout: UNSET, exception: true, track: false)
          check_address(message, :send)
          super
        end

        # (see Messages#<<)
        def <<(message) = send(message)

        # (see Messages#send_nonblock)
        def send_nonblock(message, exception: true)
          check_address(message, :send_nonblock)
          super
        end

        # (see Messages#send_many)
        def send_many(messages, timeout: UNSET)
          messages.each { |message| check_address(message, :send_many) } if messages.is_a?(Array)
          super
        end

        private

        # libzmq would drop a message with a malformed address without an error.
        def check_address(message, operation)
          message = message.frames if message.is_a?(Message)
          return unless message.is_a?(Array) && message.size == 2 # super refuses other forms
          return unless message.first.is_a?(String) || message.first.is_a?(Frame)
          # Libzmq ends a received address with NUL.
          address = message.first.to_s.b.delete_suffix("\0")
          return if address.match?(ADDRESS) && in_range?(*address.split(/[.:]/).map(&:to_i))
          raise Errors.of(MessageError, operation,
            "the first frame is an IPv4 address with its port, such as \"127.0.0.1:5555\": " \
            "got #{Errors.shown(address)}")
        end

        def in_range?(*bytes, port) = bytes.all? { |byte| byte < 256 } && port.between?(1, 65_535)
      end
    end
  end
end
