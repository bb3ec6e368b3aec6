# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # libzmq itself, its functions under their own names.
      # @private
      module Zmq
        extend ::FFI::Library

        OLDEST = [4, 3, 0].freeze
        NAMES = RUBY_PLATFORM.include?("darwin") ? %w[libzmq.5.dylib libzmq.dylib] : %w[libzmq.so.5 libzmq.so]
        FOLDERS = %w[/opt/homebrew/lib /usr/local/lib].freeze # that a loader may not know of
        PACKAGES = "Debian and Ubuntu: apt-get install libzmq5; Fedora: dnf install zeromq; Alpine: apk add libzmq; macOS: brew install zeromq"
        # It stays loaded until the process has ended: the gem ffi unloads its libraries with its objects, while threads may still be in this one.
        NODELETE = RUBY_PLATFORM.include?("darwin") ? 0x80 : 0x1000
        MESSAGE_SIZE = 128 # bytes for a zmq_msg_t, which has 64

        class << self
          # @return [String] path or name of the libzmq to take
          # @raise [LoadError] when there is none
          def locate(wanted = ENV["GODWIT_LIBZMQ"])
            names = (wanted.nil? || wanted.empty?) ? NAMES + FOLDERS.flat_map { |folder| NAMES.map { |name| File.join(folder, name) } } : [wanted]
            complaints = names.map do |name|
              ::FFI::DynamicLibrary.open(name, ::FFI::DynamicLibrary::RTLD_LAZY | ::FFI::DynamicLibrary::RTLD_LOCAL | NODELETE)
              return name
            rescue LoadError => error
              error.message.lines.first.to_s.strip
            end
            raise LoadError, not_found(wanted, complaints), cause: nil
          end

          # @raise [LoadError] when this libzmq is too old
          def check_version(version, path)
            return if (version <=> OLDEST) >= 0
            raise LoadError, "Godwit needs libzmq 4.3 or newer: #{path} is #{version.join(".")} (#{PACKAGES}; GODWIT_LIBZMQ=path chooses another)"
          end

          # Gives what libzmq was told, or an errno below zero.
          def result(code)
            (code < 0) ? -::FFI.errno : code
          end

          def loaded_version
            numbers = Array.new(3) { ::FFI::MemoryPointer.new(:int) }
            zmq_version(*numbers)
            numbers.map(&:read_int)
          end

          # A zmq_msg_t, empty.
          def new_message
            message = ::FFI::MemoryPointer.new(MESSAGE_SIZE)
            zmq_msg_init(message)
            message
          end

          private

          def not_found(wanted, complaints)
            given = wanted && !wanted.empty?
            where = given ? "GODWIT_LIBZMQ" : "LD_LIBRARY_PATH (#{ENV["LD_LIBRARY_PATH"].inspect}), the system's library folders, #{FOLDERS.join(", ")}"
            looked = given ? wanted : NAMES.join(", ")
            "libzmq was not found: looked for #{looked} in #{where}\n" \
              "  install it: #{PACKAGES}\n  or name the file: GODWIT_LIBZMQ=/path/to/libzmq.so.5\n" \
              "  the loader said: #{complaints.first}"
          end
        end

        PATH = locate
        ffi_lib PATH
        begin
          attach_function :zmq_version, %i[pointer pointer pointer], :void
          check_version(loaded_version, PATH)
          attach_function :zmq_has, %i[string], :int
          attach_function :zmq_curve_keypair, %i[pointer pointer], :int
          attach_function :zmq_curve_public, %i[pointer string], :int
          attach_function :zmq_ctx_new, [], :pointer
          attach_function :zmq_ctx_term, %i[pointer], :int, blocking: true
          attach_function :zmq_ctx_shutdown, %i[pointer], :int
          attach_function :zmq_ctx_set, %i[pointer int int], :int
          attach_function :zmq_ctx_get, %i[pointer int], :int
          attach_function :zmq_socket, %i[pointer int], :pointer
          attach_function :zmq_close, %i[pointer], :int
          attach_function :zmq_setsockopt, %i[pointer int buffer_in size_t], :int
          attach_function :zmq_getsockopt, %i[pointer int pointer pointer], :int
          attach_function :zmq_bind, %i[pointer string], :int
          attach_function :zmq_connect, %i[pointer string], :int
          attach_function :zmq_unbind, %i[pointer string], :int
          attach_function :zmq_disconnect, %i[pointer string], :int
          attach_function :zmq_send, %i[pointer buffer_in size_t int], :int
          attach_function :zmq_msg_init, %i[pointer], :int
          attach_function :zmq_msg_init_size, %i[pointer size_t], :int
          attach_function :zmq_msg_close, %i[pointer], :int
          attach_function :zmq_msg_copy, %i[pointer pointer], :int
          attach_function :zmq_msg_data, %i[pointer], :pointer
          attach_function :zmq_msg_size, %i[pointer], :size_t
          attach_function :zmq_msg_more, %i[pointer], :int
          attach_function :zmq_msg_gets, %i[pointer string], :string
          attach_function :zmq_msg_send, %i[pointer pointer int], :int
          attach_function :zmq_msg_recv, %i[pointer pointer int], :int
          attach_function :zmq_socket_monitor, %i[pointer string int], :int
        rescue ::FFI::NotFoundError => error
          raise LoadError, "#{PATH} is no libzmq that Godwit knows: #{error.message} (GODWIT_LIBZMQ=path chooses another; #{PACKAGES})", cause: nil
        end
      end

      class << self
        def libzmq_version = Zmq.loaded_version

        def has(feature) = Zmq.zmq_has(feature) == 1

        # Draft types are not done here yet.
        def draft? = false

        # Both keys as Z85, or nil where libzmq has no CURVE.
        def curve_keypair
          keys = Array.new(2) { ::FFI::MemoryPointer.new(41) }
          keys.map(&:read_string) if Zmq.zmq_curve_keypair(*keys).zero?
        end

        def curve_public(secret_key)
          key = ::FFI::MemoryPointer.new(41)
          key.read_string if Zmq.zmq_curve_public(key, secret_key).zero?
        end
      end
    end
  end
end
