# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # A libzmq context. It ends when its holders are gone: the open Context, its open sockets.
    class ContextHandle
      IO_THREADS = Options.fetch(:io_threads, :context).id
      MAX_SOCKETS = Options.fetch(:max_sockets, :context).id
      SLOTS = Constants::SOCKET_SLOTS
      MAX_SLOTS = Constants::MAX_SOCKET_SLOTS

      attr_reader :zmq, :max_sockets, :longest_linger
      attr_accessor :linger # ms, the default of its sockets
      attr_accessor :exit_linger # ms that exit waits for a linger without limit; -1: for ever

      def initialize
        @zmq = Zmq.zmq_ctx_new
        raise Failed, ::FFI.errno if @zmq.null?
        @generation = ForkDetector::COUNT[0]
        @lock = Lock.new("context")
        @holders = {self => true}.compare_by_identity # with its open sockets
        @linger = 5000
        @exit_linger = -1
        @longest_linger = 0
        @closed = @started = false
        self.max_sockets = Constants::MAX_SOCKETS
        ProcessEnd.enter(self)
      end

      def own? = @generation == ForkDetector::COUNT[0]

      def closed? = @closed

      def io_threads = Zmq.zmq_ctx_get(@zmq, IO_THREADS)

      def max_sockets=(count)
        if Zmq.zmq_ctx_set(@zmq, MAX_SOCKETS, [SLOTS * count, MAX_SLOTS].min) != 0
          raise Failed, ::FFI.errno
        end
        @max_sockets = count
      end

      # @return [::FFI::Pointer] to a new socket of libzmq, which makes its threads with the first
      # @raise [Failed]
      def make_socket(type)
        LibC.check_descriptors(@started ? 2 : 4 + 2 * [io_threads, 1].max)
        socket = Zmq.zmq_socket(@zmq, type)
        raise Failed, ::FFI.errno if socket.null?
        @started = true
        socket
      end

      # @raise [Failed] when it has too many sockets
      def enter(socket)
        use do
          raise Failed, Errno::EMFILE::Errno if @holders.size > @max_sockets
          @holders[socket] = true
        end
      end

      def leave(holder)
        @lock.synchronize do
          @holders.delete(holder)
          next unless @holders.empty? && own?
          @last_left << true
        end
      end

      def record_linger(milliseconds)
        @lock.synchronize do
          next if @longest_linger < 0
          @longest_linger = milliseconds if milliseconds < 0 || milliseconds > @longest_linger
        end
      end

      def shutdown
        @lock.synchronize { Zmq.zmq_ctx_shutdown(@zmq) unless @closed }
      end

      # Runs the block on libzmq's context, which stays meanwhile.
      # @raise [Failed]
      def use
        @lock.synchronize do
          raise Failed, ClosedError if @closed
          yield @zmq
        end
      end

      # Closes its sockets too, and waits for nothing.
      def close
        sockets = @lock.synchronize do
          @closed = true
          prepare_end unless @terminator
          @holders.keys - [self]
        end
        sockets.each(&:close)
        leave(self)
      end

      # The Context was collected. Its sockets hold it, so there are none.
      def collected
        close if own?
      end

      # Waits for libzmq's end, after the waiters have left the sockets.
      # @param seconds [Numeric, nil] nil: for ever
      def join(seconds) = @terminator&.join(seconds)

      private

      # zmq_ctx_term takes as long as linger, or a name server: it has a thread of its own. The
      # thread is made now, since the last waiter to leave may be unable to make one at exit.
      def prepare_end
        @last_left = Thread::Queue.new
        @terminator = Worker.detached do
          Thread.current.name = "godwit zmq_ctx_term"
          Thread.current.report_on_exception = false
          # Its maker may defer kills.
          Thread.handle_interrupt(Object => :immediate) do
            @last_left.pop
            nil while Zmq.zmq_ctx_term(@zmq) != 0 && ::FFI.errno == EINTR
            ProcessEnd.forget(self)
          end
        end
      end
    end
  end
end
