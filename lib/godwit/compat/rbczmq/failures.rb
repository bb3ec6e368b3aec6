# frozen_string_literal: true

module Godwit
  module Compat
    module Rbczmq
      # From Godwit's errors to rbczmq's: Errno classes for what libzmq refused, ZMQ::Error for
      # misuse.
      # @private
      module Failures
        FOLDER = __dir__
        REP_OUT_OF_TURN =
          "REP sockets allows only an alternating sequence of receive and subsequent send calls. " \
          "Please assert that you're not " \
            "sending / receiving out of band data when using the REQ / REP socket pairs."
        private_constant :FOLDER, :REP_OUT_OF_TURN

        module_function

        # Calls the block, and raises what rbczmq would have raised.
        def translated(socket = nil)
          yield
        rescue Error => error
          fail_with(error, socket)
        end

        # @param error [Error] Godwit's
        # @param socket [::ZMQ::Socket, nil] whose state decides
        def fail_with(error, socket = nil)
          note(error)
          socket&.alive!
          raise misuse(error, socket), cause: error if misuse?(error)
          raise ::TypeError, error.message, cause: error if error.is_a?(::TypeError)
          refuse(error.errno || Errno::EINVAL::Errno, error.message, error)
        end

        # Raises an Errno, and prints where: scripts that read the output look for that.
        def refuse(number, message, cause = nil)
          self.errno = number
          $stdout.puts "Sys error location: #{location}"
          raise system_error(number, message), cause: cause
        end

        # Not by SystemCallError.new(message, number), which makes an object of the same class: Ruby
        # 3.1 may mix up what stands in that one, and give a Thread::Backtrace for its cause.
        def system_error(number, message)
          klass = SystemCallError.new(nil, number).class
          klass.equal?(SystemCallError) ? klass.new(message, number) : klass.new(message)
        end

        # Keeps the errno for ZMQ.errno. In C it is the thread's own; a thread that never failed has
        # 0.
        # @return [nil]
        def note(error)
          self.errno = error.is_a?(TimeoutError) ? Errno::EAGAIN::Errno : error.errno
          nil
        end

        # @return [Integer] of what failed last in this thread
        def errno = Thread.current.thread_variable_get(:godwit_rbczmq_errno) || 0

        def errno=(number)
          Thread.current.thread_variable_set(:godwit_rbczmq_errno, number || Errno::EINVAL::Errno)
        end

        def misuse?(error)
          case error
          when StateError, ForkedError, ClosedError, BusyError, GoneError, NoIOThreadError,
               UnsupportedError, PollerError, ArgumentValueError
            true
          else
            false
          end
        end

        def misuse(error, socket)
          case error
          when StateError
            return ::ZMQ::Error.new(error.message) unless socket
            return ::ZMQ::Error.new(REP_OUT_OF_TURN) if socket.type == ::ZMQ::REP
            ::ZMQ::Error.new(
              "#{socket.type_str} sockets allows only an alternating sequence of send and " \
              "receive calls: #{error.message}"
            )
          when ForkedError
            ::ZMQ::Error.new(
              "this socket's context belongs to another process: make a new one in this process"
            )
          when NoIOThreadError
            ::ZMQ::Error.new(
              "no I/O thread is there for this: make the context with one, ZMQ::Context.new(1)"
            )
          else
            ::ZMQ::Error.new(error.message)
          end
        end

        # @return [String] something to know an object by, with no look into it
        def address(object) = format("0x%016x", object.__id__)

        # @return [String] file and line of the script's call
        def location
          place = caller_locations.find { |one| !one.absolute_path.to_s.start_with?(FOLDER) }
          place ? "#{place.path}:#{place.lineno}" : "?"
        end
      end
    end
  end
end
