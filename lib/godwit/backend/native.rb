# frozen_string_literal: true

module Godwit
  module Backend
    # The C extension, ext/godwit.
    # @private
    module Native
      NAME = :native
      INSTEAD = "or name its folder: LD_LIBRARY_PATH=/path/to/lib"

      module_function

      # Loads the extension and looks at its libzmq; what the loader says of either is passed on
      # with what to do about it.
      # @raise [LoadError]
      def load_extension
        begin
          require "godwit/godwit_ext"
        rescue LoadError => error
          raise explained(error), cause: nil
        end
        Libzmq.check_version(libzmq_version, "the one that the extension found", INSTEAD)
      end

      def explained(error)
        said = error.message.lines.first.to_s.strip
        if error.path == "godwit/godwit_ext"
          return (
            LoadError.new(
              "Godwit's C extension is not there (#{said})\n  the gem: gem pristine godwit; a " \
              "checkout: bin/setup\n  " \
                "without a compiler: gem install ffi, then GODWIT_BACKEND=ffi"
            )
          )
        end
        if said.match?(%r{(?:\A|[ /])libzmq\S*: })
          return Libzmq.not_found(["libzmq.so.5"], Libzmq.folders, [said], INSTEAD)
        end
        LoadError.new(
          "Godwit's C extension cannot be loaded\n  build it anew for this Ruby and this libzmq: " \
          "gem pristine godwit; a checkout: " \
            "bin/setup --force\n  the loader said: #{said}"
        )
      end

      # Type, whether it listens, family: numbers of <sys/socket.h>; nil when it is no open socket.
      def socket_facts(number)
        socket = ::BasicSocket.for_fd(number)
        socket.autoclose = false
        [
          socket.getsockopt(:SOCKET, :TYPE).int, socket.getsockopt(:SOCKET, :ACCEPTCONN).bool,
          socket.local_address.afamily
        ]
      rescue ::SystemCallError, ::ArgumentError
        nil
      end

      load_extension

      # There is no lock: a trap handler may do all of this too.
      # @private
      module Alone
        private

        # Runs the block while no other thread is in a call of libzmq on this socket: Ruby's own
        # lock sees to it.
        def _exclusive(_operation) = yield

        # Notes what the block makes of an instance variable's value. Ruby may let another thread
        # have its turn after any method, those written in C too; where that one has noted something
        # meanwhile the block is asked again.
        def _record(variable)
          loop do
            known = instance_variable_get(variable)
            break if Native.swap(self, variable, known, yield(known))
          end
        end
      end
      Socket.include(Alone)
    end
  end
end
