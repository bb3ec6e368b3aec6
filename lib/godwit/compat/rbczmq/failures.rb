# frozen_string_literal: true

module Godwit
  module Compat
    module Rbczmq
      # Turns Godwit's errors into rbczmq's: an Errno class if libzmq failed, ZMQ::Error for misuse.
      module Failures
        FOLDER = __dir__
        MISUSE = [
          StateError, ForkedError, ClosedError, BusyError, GoneError, NoIOThreadError,
          UnsupportedError, PollerError, ArgumentValueError
        ].freeze
        # Old scripts check for this text of rbczmq.
        REP_OUT_OF_TURN =
          "REP sockets allows only an alternating sequence of receive and subsequent send calls. " \
          "Please assert that you're not sending / receiving out of band data when using the " \
          "REQ / REP socket pairs."

        module_function

        # Calls the block, and turns an error of Godwit into rbczmq's error.
        def translated(socket = nil)
          yield
        rescue Error => error
          fail_with(error, socket)
        end

        def fail_with(error, socket = nil)
          remember(error)
          socket&.alive!
          raise misuse(error, socket), cause: error if MISUSE.any? { |klass| klass === error }
          raise ::TypeError, error.message, cause: error if error.is_a?(::TypeError)
          refuse(error.errno || Errno::EINVAL::Errno, error.message, error)
        end

        # Raises an Errno, and prints the script's file and line as rbczmq does.
        def refuse(number, message, cause = nil)
          self.errno = number
          $stdout.puts "Sys error location: #{location}"
          raise system_error(number, message), cause: cause
        end

        # SystemCallError.new(message, number) is not called: it returns an object of the Errno
        # class, whose cause Ruby 3.1 may confuse with a Thread::Backtrace.
        def system_error(number, message)
          klass = SystemCallError.new(nil, number).class
          klass.equal?(SystemCallError) ? klass.new(message, number) : klass.new(message)
        end

        # Stores the errno for ZMQ.errno.
        def remember(error)
          self.errno = error.is_a?(TimeoutError) ? Errno::EAGAIN::Errno : error.errno
          nil
        end

        def errno = Thread.current.thread_variable_get(:godwit_rbczmq_errno) || 0

        def errno=(number)
          Thread.current.thread_variable_set(:godwit_rbczmq_errno, number || Errno::EINVAL::Errno)
        end

        def misuse(error, socket)
          ::ZMQ::Error.new(
            case error
            when StateError then socket ? out_of_turn(error, socket) : error.message
            when ForkedError
              "this socket's context belongs to another process: make a new one in this process"
            when NoIOThreadError
              "the context has no I/O thread for this: make it with one, ZMQ::Context.new(1)"
            else error.message
            end
          )
        end

        def out_of_turn(error, socket)
          return REP_OUT_OF_TURN if socket.type == ::ZMQ::REP
          "#{socket.type_str} sockets allows only an alternating sequence of send and receive " \
          "calls: #{error.message}"
        end

        def destroyed(klass, object)
          ::ZMQ::Error.new(
            "#{klass} instance #{address(object)} has been destroyed by the ZMQ framework"
          )
        end

        def address(object) = format("0x%016x", object.__id__)

        def location
          line = caller_locations.find { |one| !one.absolute_path.to_s.start_with?(FOLDER) }
          line ? "#{line.path}:#{line.lineno}" : "?"
        end
      end

      # Raises TypeError for arguments of a wrong class, as rbczmq does.
      module Arguments
        module_function

        def type(value, *classes)
          return value if classes.any? { |klass| klass === value }
          raise ::TypeError, "wrong argument type #{value.class} (expected #{classes.join(" or ")})"
        end

        def boolean(value)
          return value if value == true || value == false
          raise ::TypeError, "wrong argument #{value.inspect} (expected true or false)"
        end

        # Accepts any object that has to_str.
        def string(value) = String.try_convert(value) || type(value, String)
      end
    end
  end
end
