# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # Functions of a libzmq built with drafts (law 11): zmq_has("draft") and the functions found
    # decide, as in ext/godwit/draft_symbols.c.
    module Drafts
      extend ::FFI::Library

      ffi_lib Zmq::PATH

      NEEDED = {
        zmq_join: [%i[pointer string], :int], zmq_leave: [%i[pointer string], :int],
        zmq_msg_set_routing_id: [%i[pointer uint32], :int],
        zmq_msg_routing_id: [%i[pointer], :uint32], zmq_msg_set_group: [%i[pointer string], :int],
        zmq_msg_group: [%i[pointer], :string], zmq_poller_new: [[], :pointer],
        zmq_poller_destroy: [%i[pointer], :int],
        zmq_poller_add: [%i[pointer pointer pointer short], :int],
        zmq_poller_fd: [%i[pointer pointer], :int]
      }.freeze
      # Each may be missing: this libzmq is too old or too new for it.
      OPTIONAL = {
        zmq_connect_peer: [%i[pointer string], :uint32],
        zmq_ctx_set_ext: [%i[pointer int buffer_in size_t], :int],
        zmq_socket_monitor_versioned: [%i[pointer string uint64 int int], :int],
        zmq_socket_monitor_pipes_stats: [%i[pointer], :int]
      }.freeze

      def self.find(functions)
        functions.select do |name, (arguments, result)|
          attach_function(name, arguments, result)
        rescue ::FFI::NotFoundError
          false
        end.keys
      end
      private_class_method :find

      asked = Zmq.zmq_has("draft") == 1
      AVAILABLE = asked && find(NEEDED).size == NEEDED.size
      FOUND = (asked ? find(OPTIONAL) : []).freeze

      class << self
        def found?(function) = FOUND.include?(function)

        # @return [Integer] routing id of the peer that a message came from; 0: none
        def routing_id(message) = AVAILABLE ? zmq_msg_routing_id(message) : 0

        # @return [String] "" for none
        def group(message) = AVAILABLE ? zmq_msg_group(message).to_s : ""

        # @param to [String, Integer] a group, or a routing id
        # @return [Integer] an errno, or 0
        def address(message, to)
          return ENOTSUP unless AVAILABLE
          setter = to.is_a?(String) ? :zmq_msg_set_group : :zmq_msg_set_routing_id
          public_send(setter, message, to).zero? ? 0 : ::FFI.errno
        end
      end
    end

    # What the draft types need of a socket. Those that are thread-safe in libzmq have no ZMQ_FD
    # (ADR 14).
    class SocketHandle
      NAMED = SOCKET_TYPES.fetch_values(:ROUTER, :STREAM).freeze
      FORMS = {SERVER => :routed, PEER => :routed, RADIO => :grouped, DGRAM => :datagram}.freeze
      # Frames of a message. Messages of the other forms have an address: try_send_to.
      FRAMES = {single: 1, datagram: 2}.freeze
      THREAD_SAFE_TYPES = SOCKET_TYPES.fetch_values(*(DRAFT_TYPES - [:DGRAM])).freeze
      private_constant :NAMED, :FORMS, :FRAMES, :THREAD_SAFE_TYPES

      # It has or had an endpoint of udp://, where messages are small.
      attr_writer :udp

      # Whether the type has a ZMQ_FD and takes a String: a ROUTER and a STREAM do not.
      def takes_string? = @plain && !@named

      # Whether the type takes this message.
      def fits?(message)
        return !@named || (message.is_a?(Array) && message.size > 1) if @form.nil?
        FRAMES[@form] == (message.is_a?(Array) ? message.size : 1)
      end

      # A conflating socket's messages have one frame.
      def conflates=(on)
        @form = on ? :single : nil
      end

      # Whether a message that fits would overrun libzmq's buffer for packets.
      def too_large?(message)
        @form == :datagram && bytes_of(message.last) > Socket::Drafts::UDP_LIMIT
      end

      # @param to [String, Integer] a group, or a routing id
      # @raise [Failed] when the message is too large for udp
      def check_size(body, to)
        return unless @udp && to.is_a?(String)
        raise Failed, Errno::ENAMETOOLONG::Errno if to.bytesize > Socket::Drafts::UDP_GROUP_LIMIT
        if 1 + to.bytesize + bytes_of(body) > Socket::Drafts::UDP_LIMIT
          raise Failed, Errno::EMSGSIZE::Errno
        end
      end

      # One try.
      # @return [Integer] 0, or an errno
      def try_send_to(body, to)
        error = send_addressed(body, to)
        return error unless error == EAGAIN
        events # as try_send
        send_addressed(body, to)
      end

      # @return [Array(String or Integer, String)] group or routing id, and body; or AGAIN
      # @raise [Failed]
      def try_receive_from
        size = receive_part
        return none(size) if size < 0
        from = (@type == DISH) ? Drafts.group(@incoming) : Drafts.routing_id(@incoming)
        from.force_encoding(@encoding) if from.is_a?(String)
        [from, taken(size)]
      end

      private

      def thread_safe_type? = THREAD_SAFE_TYPES.include?(@type)

      # @raise [Failed]
      def open_drafts
        @form = FORMS[@type]
        @named = NAMED.include?(@type)
        @plain = @form.nil?
        @simple = takes_string? && !@publisher && !@takes_turns
        return if get(THREAD_SAFE).zero?
        @plain = @simple = false
        raise Failed, ENOTSUP unless Drafts::AVAILABLE
        @form ||= :single
        @poller = Drafts.zmq_poller_new
        fd = ::FFI::MemoryPointer.new(:int)
        if Drafts.zmq_poller_add(@poller, @zmq, nil, POLLIN | POLLOUT) != 0 ||
            Drafts.zmq_poller_fd(@poller, fd) != 0
          raise Failed, ::FFI.errno
        end
        @fd = fd.read_int
      end

      # Before zmq_close: the poller takes its signaler out of the socket, which libzmq's reaper
      # may free at any time afterwards.
      def close_drafts
        return unless @poller
        Drafts.zmq_poller_destroy(::FFI::MemoryPointer.new(:pointer).write_pointer(@poller))
        @poller = nil
      end

      # The eventfd of a thread-safe socket stays readable until it is read; no call on the socket
      # reads it. The reader wakes all waiters and then tries: the signal may be for any of them.
      def take_signal
        unless @poller && LibC.eventfd_read(@fd, @signal ||= ::FFI::MemoryPointer.new(8)).zero?
          return false
        end
        wake_all
        true
      end

      def bytes_of(part) = part.is_a?(String) ? part.bytesize : Backend::FFI.handle_of(part).size

      def send_addressed(body, to)
        message = body.is_a?(Frame) ? Backend::FFI.handle_of(body).share : Zmq.message_of(body)
        error = Drafts.address(message, to)
        error = send_message(message, 0) if error.zero?
        sent(body) if error.zero?
        error
      ensure
        Zmq.zmq_msg_close(message) if message
      end
    end

    # The primitives of the draft types.
    module SocketPrimitives
      private

      # @param joins [Boolean] false: it leaves the group
      def _set_group(group, joins)
        operation, function = joins ? %i[join zmq_join] : %i[leave zmq_leave]
        with_handle(operation) do |handle|
          raise Failed, ENOTSUP unless Drafts::AVAILABLE
          raise Failed, ::FFI.errno if Drafts.public_send(function, handle.zmq, group) != 0
        end
        nil
      end

      # @return [Integer] the routing id of the peer there
      def _connect_peer(endpoint)
        with_handle(:connect_peer, endpoint) do |handle|
          raise Failed, ENOTSUP unless Drafts.found?(:zmq_connect_peer)
          attach(handle, endpoint, :zmq_connect_peer)
        end
      end

      # @param to [String, Integer] a group, or a routing id
      # @return [Boolean] false when time is up
      def _send_to(body, to, timeout, _tracker)
        sending(:send, timeout) do |handle, deadline|
          body = snapshot(body)
          to = to.dup.freeze if to.is_a?(String)
          outcome = handle.attempt(deadline, WRITABLE, socket: self) do
            # Each time: other threads may have sent it, or connected the socket to udp.
            check_part(body)
            handle.check_size(body, to)
            error = handle.try_send_to(body, to)
            raise Failed, error unless error.zero? || error == EAGAIN
            error.zero? || AGAIN
          end
          outcome == true
        end
      end

      # @return [Array, nil] group or routing id, and body; nil when time is up
      def _recv_from(timeout) = receive(:recv, timeout, &:try_receive_from)
    end
  end
end
