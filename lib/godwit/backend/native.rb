# frozen_string_literal: true

module Godwit
  module Backend
    # The C extension, ext/godwit.
    # @private
    module Native
      NAME = :native
      INSTEAD = "or name its folder: LD_LIBRARY_PATH=/path/to/lib"

      module_function

      # Loads the extension and checks its libzmq.
      # @raise [LoadError] with what the loader said, and what to do about it
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
          return LoadError.new("Godwit's C extension is not there (#{said})\n" \
            "  the gem: gem pristine godwit; a checkout: bin/setup\n" \
            "  without a compiler: gem install ffi, then GODWIT_BACKEND=ffi")
        end
        if said.match?(%r{(?:\A|[ /])libzmq\S*: })
          return Libzmq.not_found(["libzmq.so.5"], Libzmq.folders, [said], INSTEAD)
        end
        LoadError.new("Godwit's C extension cannot be loaded\n" \
          "  build it anew for this Ruby and this libzmq: gem pristine godwit; a checkout: " \
          "bin/setup --force\n  the loader said: #{said}")
      end

      # @return [Array, nil] type, whether it listens, family: numbers of <sys/socket.h>; nil when
      #   it is no open socket
      def socket_facts(number)
        socket = ::BasicSocket.for_fd(number)
        socket.autoclose = false
        type, listens = %i[TYPE ACCEPTCONN].map { |option| socket.getsockopt(:SOCKET, option) }
        [type.int, listens.bool, socket.local_address.afamily]
      rescue ::SystemCallError, ::ArgumentError
        nil
      end

      load_extension

      # Ruby's own lock keeps other threads out of the extension.
      # @private
      module Exclusive
        private

        # Runs the block while no other thread is in a libzmq call on this socket.
        def _exclusive(_operation) = yield

        # Sets an instance variable to what the block makes of its value. The block is called again
        # when another thread has set the variable meanwhile.
        def _record(variable)
          loop do
            known = instance_variable_get(variable)
            break if Native.swap(self, variable, known, yield(known))
          end
        end
      end
      Socket.include(Exclusive)
    end
  end
end
