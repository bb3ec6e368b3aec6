# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # A libzmq context. It is terminated once the Context and all its sockets are closed.
    class ContextHandle
      IO_THREADS = Options.fetch(:io_threads, :context).id
      MAX_SOCKETS = Options.fetch(:max_sockets, :context).id

      attr_reader :zmq, :max_sockets, :longest_linger
      attr_accessor :linger # ms, the default of the context's sockets
      attr_accessor :exit_linger # ms that exit waits for a linger without limit; -1: for ever

      def initialize
        @zmq = Zmq.zmq_ctx_new
        raise Failed, ::FFI.errno if @zmq.null?
        @process = Process.pid
        @lock = Lock.new("context")
        # The open objects: this context and its open sockets.
        @open = {self => true}.compare_by_identity
        @linger = 5000
        @exit_linger = -1
        @longest_linger = 0
        @closed = @started = false
        self.max_sockets = Constants::MAX_SOCKETS
        ProcessEnd.add(self)
      end

      # @return [Boolean] false in a forked child, which has none of libzmq's threads
      def own? = @process == Process.pid

      def closed? = @closed

      def io_threads = Zmq.zmq_ctx_get(@zmq, IO_THREADS)

      def max_sockets=(count)
        slots = [Constants::SOCKET_SLOTS * count, Constants::MAX_SOCKET_SLOTS].min
        raise Failed, ::FFI.errno if Zmq.zmq_ctx_set(@zmq, MAX_SOCKETS, slots) != 0
        @max_sockets = count
      end

      # The first socket needs more descriptors, since libzmq then starts its threads.
      def make_socket(type)
        LibC.check_descriptors(@started ? 2 : 4 + 2 * [io_threads, 1].max)
        socket = Zmq.zmq_socket(@zmq, type)
        raise Failed, ::FFI.errno if socket.null?
        @started = true
        socket
      end

      def add(socket)
        use do
          raise Failed, Errno::EMFILE::Errno if @open.size > @max_sockets
          @open[socket] = true
        end
      end

      def remove(closed)
        @lock.synchronize do
          @open.delete(closed)
          @all_closed << true if @open.empty?
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

      # Runs the block while no thread can close the context.
      def use
        @lock.synchronize do
          raise Failed, ClosedError if @closed
          yield @zmq
        end
      end

      # Closes the context's sockets too, without a wait.
      def close
        raise Failed, ForkedError unless own?
        sockets = @lock.synchronize do
          @closed = true
          prepare_end unless @terminator
          @open.keys - [self]
        end
        sockets.each(&:close)
        remove(self)
      end

      # Closes the context after its Context was collected. The context has no sockets then, since
      # sockets refer to their Context.
      def collected = close

      # Waits until libzmq has terminated the context.
      def join(seconds) = @terminator&.join(seconds)

      private

      # Linger or a name server can delay zmq_ctx_term, so it runs in a thread of its own. The
      # thread is made now: at exit the last waiter to depart may be unable to make a thread.
      def prepare_end
        @all_closed = Thread::Queue.new
        @terminator = Worker.detached do
          Thread.current.name = "godwit zmq_ctx_term"
          Thread.current.report_on_exception = false
          # The new thread inherits the deferral of kills from the thread that makes it.
          Thread.handle_interrupt(Object => :immediate) do
            @all_closed.pop
            nil while Zmq.zmq_ctx_term(@zmq) != 0 && ::FFI.errno == EINTR
            ProcessEnd.remove(self)
          end
        end
      end
    end
  end
end
