# frozen_string_literal: true

module Godwit
  # The primitives of a socket over FFI; the rest is in lib/godwit/socket.rb. Messages: see
  # messages.rb.
  class Socket
    # @private
    module FFIPrimitives
      # What a handle's owner and a poller need of it.
      # @return [Backend::FFI::SocketHandle, nil]
      def self.handle_of(socket) = socket.instance_variable_get(:@handle)

      LOOKUP = Constants::LOOKUP_DESCRIPTORS
      private_constant :LOOKUP

      private

      def with_error_translation(operation, endpoint = nil, &block)
        Backend::FFI::Failures.with_error_translation(operation, self, endpoint, &block)
      end

      # Runs the block with the handle, open and locked.
      def with_handle(operation, endpoint = nil)
        with_error_translation(operation, endpoint) { handle!.use { yield @handle } }
      end

      def handle!
        @handle or raise Backend::FFI::Failed, ClosedError
      end

      def _open(context, type, conflate)
        raise "this socket is open already" if @handle
        native = context.__send__(:opened, :new)
        with_error_translation(:new) do
          @handle = Backend::FFI::SocketHandle.new(native, type, conflate)
        end
        ObjectSpace.define_finalizer(self, Backend::FFI::ProcessEnd.finalizer(@handle))
        self
      end

      def _reopen
        with_handle(:reopen, &:reopen)
        self
      end

      def _close
        return if @handle.nil? || (_closed? && @handle.forked?)
        Backend::FFI::Failures.raise_for(ForkedError, :close, self) if @handle.forked?
        Backend::FFI.keep_errno { @handle.close }
        nil
      end

      def _closed? = @handle.nil? || @handle.closed?

      def _waiters = @handle ? @handle.queue.size + @handle.monitor_waiters.size : 0

      def _forked? = !@handle.nil? && @handle.forked?

      # Runs the block while no other thread is in such a block of this socket. Calls on it may be
      # made meanwhile, so it is another lock.
      def _exclusive(operation)
        return yield unless @handle
        begin
          @handle.exclusive.synchronize { yield }
        rescue Backend::FFI::Lock::Held
          Backend::FFI::Failures.raise_for(BusyError, operation, self)
        end
      end

      # Notes what the block makes of an instance variable's value; within {_exclusive}, so that no
      # other thread does meanwhile.
      def _record(variable)
        instance_variable_set(variable, yield(instance_variable_get(variable)))
      end

      # Gives the endpoint that was bound, wildcards replaced.
      def _bind(endpoint)
        with_handle(:bind, endpoint) do |handle|
          attach(handle, endpoint, :zmq_bind)
          bound = handle.get(Backend::FFI::SocketHandle::LAST_ENDPOINT)
          # libzmq forgets udp's, and unbinds what it was given
          bound.include?("://") ? bound.force_encoding(Encoding::UTF_8) : endpoint
        end
      end

      def _connect(endpoint)
        with_handle(:connect, endpoint) { |handle| attach(handle, endpoint, :zmq_connect) }
        nil
      end

      def _unbind(endpoint)
        with_handle(:unbind, endpoint) { |handle| attach(handle, endpoint, :zmq_unbind) }
        nil
      end

      def _disconnect(endpoint)
        with_handle(:disconnect, endpoint) { |handle| attach(handle, endpoint, :zmq_disconnect) }
        nil
      end

      def attach(handle, endpoint, function)
        Backend::FFI::LibC.check_descriptors(LOOKUP + (handle.counting ? 2 : 0))
        handle.start_counting
        code = call_endpoint(handle, endpoint, function)
        error = ::FFI.errno
        unless code < 0
          handle.attached = true
          handle.udp = true if endpoint.start_with?("udp:")
          handle.monitor_pump&.look
          return code
        end
        handle.monitor_pump&.bind_failed(endpoint, error) if function == :zmq_bind
        raise Backend::FFI::Failed, error
      ensure
        handle.wake_all # it gives or takes pipes at once, with no edge to tell of it
      end

      def call_endpoint(handle, endpoint, function)
        case function
        when :zmq_bind
          bind_given(handle, endpoint)
        when :zmq_connect_peer
          Backend::FFI::Drafts
            .zmq_connect_peer(handle.zmq, endpoint)
            .then { |id| id.zero? ? -1 : id }
        else
          Backend::FFI::Zmq.public_send(function, handle.zmq, endpoint)
        end
      end

      # libzmq closes the descriptor of use_fd when it is done, and aborts when one is bound twice:
      # it gets a duplicate.
      def bind_given(handle, endpoint)
        use_fd = Backend::FFI::SocketHandle::USE_FD
        given = endpoint.start_with?("tcp:", "ipc:", "ws") ? handle.get(use_fd) : -1
        return Backend::FFI::Zmq.zmq_bind(handle.zmq, endpoint) if given < 0
        copy = Backend::FFI::LibC.duplicate(given) # who accepts from it must not block libzmq
        handle.set(use_fd, copy)
        code = Backend::FFI::Zmq.zmq_bind(handle.zmq, endpoint)
        error = ::FFI.errno
        handle.set(use_fd, given)
        return code if code >= 0
        Backend::FFI::LibC.close(copy)
        raise Backend::FFI::Failed, error
      end

      def _get_option(id)
        kinds = Backend::FFI::SocketHandle
        with_handle(:get) do |handle|
          case id
          when kinds::RECEIVE_TIMEOUT then handle.receive_timeout
          when kinds::SEND_TIMEOUT then handle.send_timeout
          when kinds::TYPE then handle.publisher? ? Backend::FFI::PUB : handle.type
          else
            value = handle.get(id)
            handle.settle
            (id == kinds::EVENTS) ? public_events(handle, value) : value
          end
        end
      end

      def _set_option(id, value)
        kinds = Backend::FFI::SocketHandle
        with_handle(:set) do |handle|
          # libzmq would change pipes that a thread of its own may be ending. It refuses a negative
          # mark by itself.
          if handle.attached && kinds::MARKS.include?(id) && value >= 0
            raise Backend::FFI::Failed, StateError
          end
          begin
            handle.set(id, value)
          ensure
            handle.wake_all # it may be readable or writable now, with no edge to tell of it
          end
          case id
          when kinds::RECEIVE_TIMEOUT then handle.receive_timeout = value
          when kinds::SEND_TIMEOUT then handle.send_timeout = value
          when kinds::RELAXED then handle.relaxed = value != 0
          when kinds::CORRELATE then handle.correlate = value != 0
          end
        end
        nil
      end

      # A PUB never receives in public: what it could read are subscriptions.
      def public_events(handle, events)
        handle.publisher? ? events & ~Backend::FFI::READABLE : events
      end

      def _encoding = with_handle(:encoding, &:encoding)

      def _set_encoding(encoding)
        with_handle(:encoding=) { |handle| handle.encoding = Encoding.find(encoding) }
      end

      def _copy_threshold = with_handle(:copy_threshold, &:copy_threshold)

      # Kept, and that is all: FFI copies every String.
      def _set_copy_threshold(bytes)
        with_handle(:copy_threshold=) { |handle| handle.copy_threshold = bytes }
        bytes
      end

      def _fd = with_handle(:zmq_fd, &:fd)

      def _pointer = with_handle(:pointer) { |handle| handle.zmq.address }

      # From the first endpoint on.
      def _count_peers
        with_handle(:wait_connected) { |handle| handle.counting = true }
        nil
      end

      # How many peers there are, fewer than `count` when time is up; nil when they are not counted.
      def _wait_peers(count, timeout)
        now = nil
        with_error_translation(:wait_connected) do
          handle = handle!
          queue = handle.publisher? ? handle.queue : handle.monitor_waiters
          handle.attempt(Backend::FFI::Clock.deadline(timeout), 0, queue) do
            now = handle.count_peers
            (now.nil? || now >= count) ? now : Backend::FFI::AGAIN
          end
        end
        now
      end
    end

    include FFIPrimitives
  end
end
