# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # A libzmq context. It lives as long as it has holders: the open Context, its open sockets.
      # @private
      class ContextHandle
        IO_THREADS = Options.fetch(:io_threads, :context).id
        MAX_SOCKETS = Options.fetch(:max_sockets, :context).id
        SLOTS = Constants::SOCKET_SLOTS
        SLOTS_MOST = Constants::MOST_SOCKET_SLOTS

        attr_reader :zmq, :max_sockets, :longest_linger
        # Of all its sockets of thread-safe types: a call on one of them locks it, and its peer over
        # inproc to tell that, so two threads that call the two at once would wait for one another
        # for good (libzmq#3048). CRuby's lock keeps them apart, on JRuby this one does.
        attr_reader :lock_of_thread_safe
        attr_accessor :linger # ms, the default of its sockets
        attr_accessor :exit_linger # ms that exit waits for one without limit; -1: for ever

        def initialize
          @zmq = Zmq.zmq_ctx_new
          raise Failed, ::FFI.errno if @zmq.null?
          @pid = Process.pid
          @lock = Lock.new
          @lock_of_thread_safe = Lock.new
          @holders = {self => true}.compare_by_identity # with its open sockets
          @linger = 5000
          @exit_linger = -1
          @longest_linger = 0
          @closed = false
          @started = false
          @all_left = false
          @leaving = Mutex.new
          @left = ConditionVariable.new
          self.max_sockets = Constants::MAX_SOCKETS
          ProcessEnd.enter(self)
        end

        def own? = @pid == Process.pid

        def closed? = @closed

        def io_threads = Zmq.zmq_ctx_get(@zmq, IO_THREADS)

        def max_sockets=(count)
          if Zmq.zmq_ctx_set(@zmq, MAX_SOCKETS, [SLOTS * count, SLOTS_MOST].min) != 0
            raise Failed, ::FFI.errno
          end
          @max_sockets = count
        end

        # Room for one more libzmq socket: libzmq makes its threads with the first.
        # @raise [Failed] when no descriptor is left for it
        def check_descriptors
          threads = io_threads
          LibC.check_descriptors(if @started
            2
          else
            4 + 2 * ((threads < 0) ? 1 : threads)
          end)
        end

        def started
          @started = true
        end

        # A socket is to be one of its own.
        # @raise [Failed] when there are too many
        def enter(socket)
          @lock.synchronize do
            raise Failed, ClosedError if @closed
            raise Failed, Errno::EMFILE::Errno if @holders.size > @max_sockets
            @holders[socket] = true
          end
        end

        def leave(holder)
          @lock.synchronize do
            @holders.delete(holder)
            terminate if @holders.empty? && own?
          end
        end

        def note_linger(milliseconds)
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
        rescue Lock::Held
          raise Failed.in_handler("context")
        end

        # Closes its sockets too; waits for nothing. Called again it finishes what a trap handler's
        # error left.
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

        # Waits for libzmq's end, which comes after those who wait on its sockets have left them.
        # @param seconds [Numeric, nil] nil: for ever
        def join(seconds)
          if @terminator && all_left?([seconds, ProcessEnd::GRACE].compact.min)
            @terminator.join(seconds)
          end
        end

        private

        # zmq_ctx_term takes as long as linger, or a name server: it has a thread of its own, which
        # no caller has to wait for. It is made now: the last thread to leave may end with the
        # process, and could start none.
        def prepare_end
          # Its own: of two, after a trap handler's error, one goes on.
          last_left = @last_left = Thread::Queue.new
          @terminator = Worker.detached do
            Thread.current.name = "godwit zmq_ctx_term"
            Thread.current.report_on_exception = false
            # It may be started where kills are put off.
            Thread.handle_interrupt(Object => :immediate) do
              last_left.pop
              @leaving.synchronize { @left.broadcast }
              nil while Zmq.zmq_ctx_term(@zmq) != 0 && ::FFI.errno == EINTR
              ProcessEnd.forget(self)
            end
          end
        end

        def terminate
          @all_left = true
          @last_left << true
        end

        # They leave at once; but one whom a trap handler interrupted cannot, as long as that runs.
        def all_left?(seconds)
          finish = Clock.now + seconds
          @leaving.synchronize do
            until @all_left
              left = finish - Clock.now
              break if left <= 0
              @left.wait(@leaving, left)
            end
          end
          @all_left
        rescue ThreadError # in a trap handler, where no lock may be taken
          @all_left
        end
      end
    end
  end
end
