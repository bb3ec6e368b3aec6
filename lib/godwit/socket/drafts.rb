# frozen_string_literal: true

module Godwit
  class Socket
    # What the draft types do beside {Messages}. Their messages have one frame; a group or a routing
    # id stands beside it, not in it. A libzmq without drafts has none of them: `new` raises
    # {UnsupportedError} then.
    module Drafts
      # A group's name has at most so many bytes; over udp {UDP_GROUP_LIMIT}.
      GROUP_LIMIT = 255
      # libzmq's receiver dies of a longer one.
      UDP_GROUP_LIMIT = Constants::UDP_GROUP_BYTES
      # Bytes of a message over udp. Of a {RADIO}'s, the group's name and one more byte are part of
      # it.
      UDP_LIMIT = Constants::UDP_BYTES

      UNSET = Timeout::UNSET
      private_constant :UNSET

      module_function

      # @private
      # @return [String] the name of a group
      def group(name, operation)
        raise Errors.bad_type(operation, "a group", "a String", name) unless name.is_a?(String)
        return name if name.bytesize <= GROUP_LIMIT && !name.include?("\0")
        raise GroupError.new(
          "#{operation}: a group's name has at most #{GROUP_LIMIT} bytes, none of them " \
          "NUL: got #{Errors.shown(name)}",
          operation: operation
        )
      end

      # @private
      # @return [Integer] the number of a peer
      def routing_id(id, operation)
        return id if id.is_a?(Integer) && id.between?(1, 0xFFFF_FFFF)
        raise RoutingIdError.new(
          "#{operation}: routing_id: takes the number of a peer, as recv_from gives it: " \
          "got #{Errors.shown(id)}",
          operation: operation
        )
      end

      # {DISH}: which groups it takes.
      module Groups
        # Receives what is sent to these groups from now on. A RADIO learns of it some time later
        # and drops what it sends before.
        # @param groups [Array<String>] each of at most 255 bytes without NUL; "" is a group too
        # @return [self]
        # @raise [GroupError] when it is in that group already, or for a name that is too long
        # @raise [ArgumentTypeError] for what is no String
        # @see http://api.zeromq.org/4-3:zmq-join zmq_join(3)
        def join(*groups)
          groups.each { |name| Drafts.group(name, :join) }
          groups.each do |name|
            _exclusive(:join) do
              _set_group(name, true)
              _record(:@groups) { |known| known + [name.dup.freeze] }
            end
          end
          self
        end

        # Takes back {#join}.
        # @param groups [Array<String>]
        # @return [self]
        # @raise [GroupError] when it is not in that group
        # @raise [ArgumentTypeError] for what is no String
        # @see http://api.zeromq.org/4-3:zmq-leave zmq_leave(3)
        def leave(*groups)
          groups.each { |name| Drafts.group(name, :leave) }
          groups.each do |name|
            _exclusive(:leave) do
              _set_group(name, false)
              _record(:@groups) { |known| known.reject { |one| one.b == name.b } }
            end
          end
          self
        end

        # @return [Array<String>] those that it has joined, in order
        def groups
          @groups.dup
        end

        # {Messages#recv}, with the group that the message was sent to.
        # @param timeout [Integer, Float, nil] seconds
        # @param exception [Boolean] false: nil instead of a TimeoutError
        # @return [Array(String, String)] group and message; nil when time is up and `exception:
        #   false`
        # @raise [Error] as {Messages#recv}
        def recv_with_group(timeout: UNSET, exception: true)
          _recv_from(Timeout.milliseconds(timeout)) || timed_out(:recv_with_group, exception)
        end
      end

      # Sending with an address beside the message.
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
          unless _send_to(frame(message, :send), to, Timeout.milliseconds(timeout), tracker)
            return timed_out(:send, exception)
          end
          track ? tracker.__send__(:_sent) : self
        end

        def send_to_nonblock(message, to, exception)
          return self if _send_to(frame(message, :send_nonblock), to, 0, nil)
          return :wait_writable unless exception
          raise Errors.build(EAGAINWaitWritable, :send_nonblock, endpoints.first)
        end

        def send_many_to(messages, to, timeout)
          raise ErrorHints.bad_batch(messages) unless messages.is_a?(Array)
          sent = 0
          frames = messages.map { |message| frame(message, :send_many) }
          Timeout.milliseconds(timeout) # refuses what is no duration
          start = Timeout.now unless UNSET.equal?(timeout)
          frames.each do |message|
            left = start ? Timeout.left(timeout, start) : timeout
            unless _send_to(message, to, Timeout.milliseconds(left), nil)
              raise timeout_error(:send_many)
            end
            sent += 1
          end
          self
        rescue Error => error
          error.sent = sent
          raise
        end
      end

      # {RADIO}: each message goes to a group.
      module Grouped
        include Addressed

        # Sends a message to all who joined a group; it is dropped where nobody did.
        # @param message [String, Frame, Message, Array(String)] of one frame; over udp, message and
        #   group have at most 8,191 bytes
        # @param group [String] at most 255 bytes without NUL; over udp 127
        # @param timeout [Integer, Float, nil] seconds; it waits only with `xpub_no_drop: true`
        # @param track [Boolean] whether to give a {Tracker}, as {Messages#send}
        # @param exception [Boolean] false: nil instead of a TimeoutError
        # @return [self, Tracker] or nil when time is up and `exception: false`
        # @raise [GroupError] without a group, or for a name that is too long
        # @raise [MessageError] when it has several frames
        # @raise [Errno::EMSGSIZE, Errno::ENAMETOOLONG] (each a {SystemError}) when it is too large
        #   for udp, or its group is
        # @raise [Error] as {Messages#send}
        def send(message, group: UNSET, timeout: UNSET, exception: true, track: false)
          # Which says what is missing.
          return super(message, timeout: timeout, exception: exception) if UNSET.equal?(group)
          send_to(message, Drafts.group(group, :send), timeout, exception, track)
        end

        # As {Messages#send_nonblock}, to a group.
        # @param message [String, Array(String)] of one frame
        # @param group [String] as {#send}
        # @param exception [Boolean] false: :wait_writable instead of an error
        # @return [self] or :wait_writable
        # @raise [Error] as {#send}
        def send_nonblock(message, group: UNSET, exception: true)
          return super(message, exception: exception) if UNSET.equal?(group)
          send_to_nonblock(message, Drafts.group(group, :send_nonblock), exception)
        end

        # As {Messages#send_many}, all to one group.
        # @param messages [Array<String, Array(String)>]
        # @param group [String] as {#send}
        # @param timeout [Integer, Float, nil] seconds for all of them
        # @return [self]
        # @raise [Error] as {#send}; the error's `sent` says how many went
        def send_many(messages, group: UNSET, timeout: UNSET)
          return super(messages, timeout: timeout) if UNSET.equal?(group)
          send_many_to(messages, Drafts.group(group, :send_many), timeout)
        end
      end

      # {SERVER} and {PEER}: each message comes from, and goes to, the peer of a number.
      module Routed
        include Addressed

        # Sends a message to one peer; waits while its queue is full.
        # @param message [String, Frame, Message, Array(String)] of one frame
        # @param routing_id [Integer] the peer's number, from {#recv_from} or
        #   {Connecting#connect_peer}
        # @param timeout [Integer, Float, nil] seconds
        # @param track [Boolean] whether to give a {Tracker}, as {Messages#send}
        # @param exception [Boolean] false: nil instead of a TimeoutError
        # @return [self, Tracker] or nil when time is up and `exception: false`
        # @raise [RoutingIdError] without a number
        # @raise [UnreachableError] when that peer is gone
        # @raise [MessageError] when the message has several frames
        # @raise [Error] as {Messages#send}
        def send(message, routing_id: UNSET, timeout: UNSET, exception: true, track: false)
          # Which says what is missing.
          return super(message, timeout: timeout, exception: exception) if UNSET.equal?(routing_id)
          send_to(message, Drafts.routing_id(routing_id, :send), timeout, exception, track)
        end

        # As {Messages#send_nonblock}, to one peer.
        # @param message [String, Array(String)] of one frame
        # @param routing_id [Integer] as {#send}
        # @param exception [Boolean] false: :wait_writable instead of an error
        # @return [self] or :wait_writable
        # @raise [Error] as {#send}
        def send_nonblock(message, routing_id: UNSET, exception: true)
          return super(message, exception: exception) if UNSET.equal?(routing_id)
          send_to_nonblock(message, Drafts.routing_id(routing_id, :send_nonblock), exception)
        end

        # As {Messages#send_many}, all to one peer.
        # @param messages [Array<String, Array(String)>]
        # @param routing_id [Integer] as {#send}
        # @param timeout [Integer, Float, nil] seconds for all of them
        # @return [self]
        # @raise [Error] as {#send}; the error's `sent` says how many went
        def send_many(messages, routing_id: UNSET, timeout: UNSET)
          return super(messages, timeout: timeout) if UNSET.equal?(routing_id)
          send_many_to(messages, Drafts.routing_id(routing_id, :send_many), timeout)
        end

        # {Messages#recv}, with the number of the peer that sent it: what `send(reply, routing_id:
        # number)` takes.
        # @param timeout [Integer, Float, nil] seconds
        # @param exception [Boolean] false: nil instead of a TimeoutError
        # @return [Array(Integer, String)] routing id and message; nil when time is up and
        #   `exception: false`
        # @raise [Error] as {Messages#recv}
        def recv_from(timeout: UNSET, exception: true)
          _recv_from(Timeout.milliseconds(timeout)) || timed_out(:recv_from, exception)
        end
      end

      # {PEER}: knows a peer by its number before it has written.
      module Connecting
        # Connects, as {Endpoints#connect}, and tells the number of the peer there, so that it can
        # be written to first.
        # @param endpoint [String] one
        # @return [Integer] its routing id, for `send(message, routing_id:)`
        # @raise [OptionError] on a socket with `immediate: true`, which has no peer before it is
        #   there
        # @raise [Error] as {Endpoints#connect}
        # @see http://api.zeromq.org/4-3:zmq-connect-peer zmq_connect_peer(3)
        def connect_peer(endpoint)
          Endpoint.check(endpoint, :connect)
          if @settings[Options.fetch(:immediate).id] == 1
            raise OptionError.new(
              "connect_peer: there is no number before the peer is there: set immediate: " \
              "false",
              operation: :connect_peer
            )
          end
          endpoint = endpoint.dup.freeze # the caller may change its own
          _exclusive(:connect_peer) do
            id = _connect_peer(endpoint)
            note_endpoint(:connect, endpoint)
            id
          end
        end
      end
    end
  end
end
require_relative "datagrams"
