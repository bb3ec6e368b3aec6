# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # What only a libzmq built with drafts has (law 11): decided by zmq_has("draft") and by the
      # functions found. ext/godwit/draft_symbols.c does the same.
      # @private
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
        # Each missing where this libzmq is too old or too new for it.
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

          # @return [Integer] of the peer that a message came from; 0: none
          def routing_id(message) = AVAILABLE ? zmq_msg_routing_id(message) : 0

          # @return [String] "" for none
          def group(message) = AVAILABLE ? zmq_msg_group(message).to_s : ""

          # @param to [String, Integer] a group, or a routing id
          # @return [Integer] an errno, or 0
          def address(message, to)
            return ENOTSUP unless AVAILABLE
            code =
              (
                if to.is_a?(String)
                  zmq_msg_set_group(message, to)
                else
                  zmq_msg_set_routing_id(message, to)
                end
              )
            code.zero? ? 0 : ::FFI.errno
          end
        end
      end

      # The draft types' part of a socket. Those that are thread-safe in libzmq have no ZMQ_FD (ADR
      # 14).
      # @private
      class SocketHandle
        THREAD_SAFE = Options.fetch(:thread_safe).id
        FORMS = {SERVER => :routed, PEER => :routed, RADIO => :grouped, DGRAM => :datagram}.freeze
        # Of a message; of the others each names somebody, and is sent by try_send_to.
        FRAMES = {single: 1, datagram: 2}.freeze
        THREAD_SAFE_TYPES = SOCKET_TYPES.fetch_values(*(DRAFT_TYPES - [:DGRAM])).freeze
        private_constant :THREAD_SAFE, :FORMS, :FRAMES, :THREAD_SAFE_TYPES

        # It has or had an endpoint of udp://, where messages are small.
        attr_writer :udp

        # Whether any message is one for this type, and it has a ZMQ_FD.
        def plain? = @plain

        # Whether a message is one for this type.
        def fits?(message)
          @form.nil? || FRAMES[@form] == (message.is_a?(Array) ? message.size : 1)
        end

        # Whether a message that fits would overrun libzmq's buffer for packets.
        def too_large?(message)
          @form == :datagram && bytes_of(message.last) > Socket::Drafts::UDP_LIMIT
        end

        # @param to [String, Integer] a group, or a routing id
        # @raise [Failed] when it is too large for udp
        def check_size(body, to)
          return unless @udp && to.is_a?(String)
          raise Failed, Errno::ENAMETOOLONG::Errno if to.bytesize > Socket::Drafts::UDP_GROUP_LIMIT
          if 1 + to.bytesize + bytes_of(body) > Socket::Drafts::UDP_LIMIT
            raise Failed, Errno::EMSGSIZE::Errno
          end
        end

        # One try, the lock held.
        # @return [Integer] 0, or an errno
        def try_send_to(body, to)
          error = send_addressed(body, to)
          settle
          return error unless error == EAGAIN
          events # as try_send: libzmq looks at its mailbox only now and then when it sends
          error = send_addressed(body, to)
          settle
          error
        end

        # @return [Array(String or Integer, String)] group or routing id, and body; or AGAIN
        # @raise [Failed]
        def try_receive_from
          size = receive_part
          settle
          return none(size) if size < 0
          from =
            (
              if @type == DISH
                Drafts.group(@incoming).force_encoding(@encoding)
              else
                Drafts.routing_id(@incoming)
              end
            )
          [from, taken(size)]
        end

        private

        def thread_safe_type? = THREAD_SAFE_TYPES.include?(@type)

        # @raise [Failed]
        def open_drafts
          @form = FORMS[@type]
          @plain = @form.nil?
          @simple = @plain && !@publisher && !@takes_turns
          return if get(THREAD_SAFE).zero?
          @plain = @simple = false
          raise Failed, ENOTSUP unless Drafts::AVAILABLE
          @form ||= :single
          poller = Drafts.zmq_poller_new
          raise Failed, Errno::ENOMEM::Errno if poller.null?
          @poller = poller
          fd = ::FFI::MemoryPointer.new(:int)
          if Drafts.zmq_poller_add(poller, @zmq, nil, POLLIN | POLLOUT) != 0
            raise Failed, ::FFI.errno
          end
          raise Failed, ::FFI.errno if Drafts.zmq_poller_fd(poller, fd) != 0
          @fd = fd.read_int
        end

        # Before zmq_close: the poller takes its signaler out of the socket, which libzmq's reaper
        # may free at any time afterwards.
        def close_drafts
          return unless @poller
          place = ::FFI::MemoryPointer.new(:pointer)
          place.write_pointer(@poller)
          Drafts.zmq_poller_destroy(place)
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

        def bytes_of(part) = part.is_a?(String) ? part.bytesize : Frame.handle_of(part).size

        def send_addressed(body, to)
          FrameHandle.holding([body]) { send_held(body, to) }
        end

        def send_held(body, to)
          message = body.is_a?(Frame) ? Frame.handle_of(body).copy : Zmq.message_of(body)
          error = Drafts.address(message, to)
          while error.zero? && Zmq.zmq_msg_send(message, @zmq, DONTWAIT) < 0
            failure = ::FFI.errno
            error = failure unless interrupted?(failure)
          end
          error.zero? ? let_go(body) : Zmq.zmq_msg_close(message)
          error
        end
      end
    end
  end

  class Socket
    # The primitives of the draft types over FFI.
    # @private
    module FFIDrafts
      private

      # @param joins [Boolean] false: it leaves the group
      def _set_group(group, joins)
        operation, function = joins ? %i[join zmq_join] : %i[leave zmq_leave]
        with_handle(operation) do |handle|
          raise Backend::FFI::Failed, Backend::FFI::ENOTSUP unless Backend::FFI::Drafts::AVAILABLE
          code = Backend::FFI::Drafts.public_send(function, handle.zmq, group)
          error = ::FFI.errno
          handle.settle
          raise Backend::FFI::Failed, error if code != 0
        end
        nil
      end

      # The routing id of the peer there.
      def _connect_peer(endpoint)
        with_handle(:connect_peer, endpoint) do |handle|
          unless Backend::FFI::Drafts.found?(:zmq_connect_peer)
            raise Backend::FFI::Failed, Backend::FFI::ENOTSUP
          end
          attach(handle, endpoint, :zmq_connect_peer)
        end
      end

      # True, or false when time is up. `to` is a group or a routing id.
      def _send_to(body, to, timeout, _tracker)
        with_error_translation(:send) do
          handle = handle!
          handle.check
          handle.yield_turn
          deadline = Backend::FFI::Clock.deadline(timeout, handle.send_timeout)
          handle.use { handle.begin_send }
          body = snapshot(body)
          to = to.dup.freeze if to.is_a?(String)
          outcome = handle.attempt(deadline, Backend::FFI::WRITABLE) do
            check_part(body) # each time: others may have sent it,
            handle.check_size(body, to) # or connected the socket to udp
            error = handle.try_send_to(body, to)
            next true if error.zero?
            raise Backend::FFI::Failed, error unless error == Backend::FFI::EAGAIN
            Backend::FFI::AGAIN
          end
          outcome == true
        end
      end

      # [group or routing id, body], or nil when time is up.
      def _recv_from(timeout)
        receive(:recv, timeout, &:try_receive_from)
      end
    end

    include FFIDrafts
  end
end
