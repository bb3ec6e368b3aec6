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
      def load_extension
        begin
          require packaged || "godwit/godwit_ext"
        rescue LoadError => error
          raise explained(error), cause: nil
        end
        Libzmq.check_version(libzmq_version, "the one that the extension found", INSTEAD)
      end

      def packaged(version = RUBY_VERSION)
        PACKAGED.find { |path| path.end_with?("/#{version[/\A\d+\.\d+/]}/godwit_ext.so") }
      end

      def explained(error)
        said = error.message.lines.first.to_s.strip
        return LoadError.new(unfit(said)) if PACKAGED.any?
        if error.path == "godwit/godwit_ext"
          return LoadError.new("Godwit's C extension is not there (#{said})\n" \
            "  the gem: gem pristine godwit; a checkout: bin/setup")
        end
        if said.match?(%r{(?:\A|[ /])libzmq\S*: })
          return Libzmq.not_found(["libzmq.so.5"], Libzmq.folders, [said], INSTEAD)
        end
        LoadError.new("Godwit's C extension cannot be loaded\n" \
          "  rebuild it for this Ruby and this libzmq: gem pristine godwit; a checkout: " \
          "bin/setup --force\n  the loader said: #{said}")
      end

      def unfit(said, system = RbConfig::CONFIG["host_os"])
        rubies = PACKAGED.map { |path| File.basename(File.dirname(path)) }.join(", ")
        why =
          if system.include?("musl") then "it needs glibc, and this system has musl"
          elsif !packaged then "it has extensions for Ruby #{rubies}, and this is #{RUBY_VERSION}"
          elsif (glibc = said[/GLIBC_([\d.]+)/, 1]) then "it needs glibc #{glibc} or newer"
          else "its extension cannot be loaded"
          end
        "the gem of Godwit for x86_64-linux does not run here: #{why}\n" \
          "  install the gem that is compiled here: gem install godwit --platform ruby\n" \
          "  in a Gemfile: gem \"godwit\", force_ruby_platform: true\n" \
          "  before Bundler 2.3.18: bundle config set force_ruby_platform true\n" \
          "  the loader said: #{said}"
      end

      # @return [String, nil] why the descriptor is no listening Unix or TCP socket; nil: it is one
      def descriptor_problem(number, unix)
        socket = ::BasicSocket.for_fd(number)
        socket.autoclose = false
        address = socket.local_address
        if socket.getsockopt(:SOCKET, :TYPE).int != ::Socket::SOCK_STREAM then "is no stream socket"
        elsif !socket.getsockopt(:SOCKET, :ACCEPTCONN).bool then "does not listen"
        elsif unix ? !address.unix? : !address.ip? then "is of another family"
        end
      rescue ::SystemCallError, ::ArgumentError
        "is no open socket"
      end

      load_extension

      # Ruby's GVL keeps other threads out of the extension, so these methods need no lock.
      # @private
      module Exclusive
        private

        # Runs the block while no other thread is in a libzmq call on this socket.
        def _exclusive(_operation) = yield

        # Yields the variable's value, and sets the variable to the block's result. The block is
        # called again when another thread has set the variable meanwhile.
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
