# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The primitives of a socket.
    module SocketPrimitives
      include Failures

      LOOKUP = Constants::LOOKUP_DESCRIPTORS
      private_constant :LOOKUP

      private

      # Runs the block with the handle, open and locked.
      def with_handle(operation, endpoint = nil)
        with_error_translation(operation, endpoint) { handle!.use { yield @handle } }
      end

      def handle!
        @handle or raise Failed, ClosedError
      end

      def _open(context, type, conflate)
        raise "this socket is open already" if @handle
        native = context.opened(:new)
        with_error_translation(:new) { @handle = SocketHandle.new(native, type, conflate) }
        ObjectSpace.define_finalizer(self, ProcessEnd.finalizer(@handle))
        self
      end

      def _reopen
        with_handle(:reopen, &:reopen)
        self
      end

      def _close
        with_error_translation(:close) { @handle.close } if closes?(@handle)
        nil
      end

      def _closed? = @handle.nil? || @handle.closed?

      def _waiters = @handle ? @handle.queue.size + @handle.monitor_waiters.size : 0

      def _forked? = !@handle.nil? && @handle.forked?

      # Runs the block while no other thread is in such a block of this socket. It may call the
      # socket, so this is another lock.
      def _exclusive(operation, &block)
        return yield unless @handle
        with_error_translation(operation) { @handle.exclusive.synchronize(&block) }
      end

      # Sets an instance variable to what the block makes of its value; within {_exclusive}.
      def _record(variable)
        instance_variable_set(variable, yield(instance_variable_get(variable)))
      end

      # @return [String] the endpoint that was bound, wildcards replaced
      def _bind(endpoint)
        with_handle(:bind, endpoint) do |handle|
          attach(handle, endpoint, :zmq_bind)
          handle.get(SocketHandle::LAST_ENDPOINT).force_encoding(Encoding::UTF_8)
        end
      end

      {_connect: :connect, _unbind: :unbind, _disconnect: :disconnect}.each do |name, operation|
        define_method(name) do |endpoint|
          with_handle(operation, endpoint) { attach(_1, endpoint, :"zmq_#{operation}") }
          nil
        end
        private name
      end

      def attach(handle, endpoint, function)
        LibC.check_descriptors(LOOKUP + (handle.counting ? 2 : 0))
        handle.start_counting
        code =
          if function == :zmq_bind then bind_given(handle, endpoint)
          else Zmq.public_send(function, handle.zmq, endpoint)
          end
        error = ::FFI.errno
        if code < 0
          handle.monitor_pump&.bind_failed(endpoint, error) if function == :zmq_bind
          raise Failed, error
        end
        handle.attached = true
        handle.monitor_pump&.look
      ensure
        handle.wake_all # it gives or takes pipes at once, without an edge that reports it
      end

      # libzmq closes the descriptor of use_fd when it is done, and aborts when one is bound
      # twice: it gets a duplicate.
      def bind_given(handle, endpoint)
        use_fd = SocketHandle::USE_FD
        given = endpoint.start_with?("tcp:", "ipc:", "ws") ? handle.get(use_fd) : -1
        return Zmq.zmq_bind(handle.zmq, endpoint) if given < 0
        copy = LibC.duplicate(given)
        handle.set(use_fd, copy)
        code = Zmq.zmq_bind(handle.zmq, endpoint)
        error = ::FFI.errno
        handle.set(use_fd, given)
        return code if code >= 0
        LibC.close(copy)
        raise Failed, error
      end

      def _get_option(id)
        with_handle(:get) do |handle|
          case id
          when SocketHandle::RECEIVE_TIMEOUT then handle.receive_timeout
          when SocketHandle::SEND_TIMEOUT then handle.send_timeout
          when SocketHandle::TYPE then handle.publisher? ? PUB : handle.type
          when SocketHandle::EVENTS then public_events(handle, handle.get(id))
          else handle.get(id)
          end
        end
      end

      def _set_option(id, value)
        with_handle(:set) do |handle|
          # libzmq would change pipes that a thread of its own may be ending. It refuses a
          # negative mark by itself.
          if handle.attached && SocketHandle::MARKS.include?(id) && value >= 0
            raise Failed, StateError
          end
          handle.set(id, value)
          case id
          when SocketHandle::RECEIVE_TIMEOUT then handle.receive_timeout = value
          when SocketHandle::SEND_TIMEOUT then handle.send_timeout = value
          when SocketHandle::CONFLATE then handle.single = value == 1
          end
        end
        nil
      end

      # A PUB never receives in public: only subscriptions are readable.
      def public_events(handle, events) = handle.publisher? ? events & ~READABLE : events

      def _encoding = with_handle(:encoding, &:encoding)

      def _set_encoding(encoding)
        with_handle(:encoding=) { |handle| handle.encoding = Encoding.find(encoding) }
      end

      def _copy_threshold = with_handle(:copy_threshold, &:copy_threshold)

      # It has no effect: FFI copies every String.
      def _set_copy_threshold(bytes)
        with_handle(:copy_threshold=) { |handle| handle.copy_threshold = bytes }
      end

      def _fd = with_handle(:zmq_fd, &:fd)

      def _pointer = with_handle(:pointer) { |handle| handle.zmq.address }

      # From the first endpoint on.
      def _count_peers
        with_handle(:wait_connected) { |handle| handle.counting = true }
        nil
      end

      # @return [Integer, nil] peers, fewer than `count` when time is up; nil: not counted
      def _wait_peers(count, timeout)
        now = nil
        with_error_translation(:wait_connected) do
          handle = handle!
          queue = handle.publisher? ? handle.queue : handle.monitor_waiters
          handle.attempt(Clock.deadline(timeout), 0, queue, socket: self) do
            now = handle.count_peers
            (now.nil? || now >= count) ? true : AGAIN
          end
        end
        now
      end
    end
  end

  class Socket
    include Backend::FFI::SocketPrimitives
  end
end
