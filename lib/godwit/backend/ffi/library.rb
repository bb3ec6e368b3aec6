# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # libzmq itself, its functions under their own names.
      # @private
      module Zmq
        extend ::FFI::Library

        NAMES = ::FFI::Platform.mac? ? %w[libzmq.5.dylib libzmq.dylib] : %w[libzmq.so.5 libzmq.so]
        FOLDERS = %w[/opt/homebrew/lib /usr/local/lib].freeze # that a loader may not know of
        INSTEAD = "or name the file: GODWIT_LIBZMQ=/path/to/libzmq.so.5"
        # It stays loaded until the process has ended: the gem ffi unloads its libraries with its
        # objects, while threads may still be in this one.
        NODELETE = ::FFI::Platform.mac? ? 0x80 : 0x1000
        MESSAGE_SIZE = 128 # bytes for a zmq_msg_t, which has 64
        # All of it: no pointer need be made for each message. At 0 it could not be read.
        MEMORY = ::FFI::Pointer.new(1)

        class << self
          # @return [String] path or name of the libzmq to take
          # @raise [LoadError] when there is none
          def locate(wanted = ENV["GODWIT_LIBZMQ"])
            given = wanted && !wanted.empty?
            names =
              (
                if given
                  [wanted]
                else
                  NAMES + FOLDERS.flat_map { |folder| NAMES.map { |name| File.join(folder, name) } }
                end
              )
            complaints = names.map do |name|
              ::FFI::DynamicLibrary.open(
                name,
                ::FFI::DynamicLibrary::RTLD_LAZY | ::FFI::DynamicLibrary::RTLD_LOCAL | NODELETE
              )
              return name
            rescue LoadError => error
              error.message.lines.first.to_s.strip
            end
            raise Libzmq.not_found([wanted], "GODWIT_LIBZMQ", complaints, INSTEAD) if given
            raise Libzmq.not_found(
              NAMES, "#{Libzmq.folders}, #{FOLDERS.join(", ")}", complaints, INSTEAD
            )
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

          # The bytes at an address, in a new String.
          def bytes(address, size) = MEMORY.get_bytes(address - 1, size)

          # A zmq_msg_t, empty.
          def new_message
            message = ::FFI::MemoryPointer.new(MESSAGE_SIZE)
            zmq_msg_init(message)
            message
          end

          # A zmq_msg_t with these bytes.
          # @raise [Failed]
          def message_of(string)
            message = ::FFI::MemoryPointer.new(MESSAGE_SIZE)
            raise Failed, ::FFI.errno if zmq_msg_init_size(message, string.bytesize) != 0
            zmq_msg_data(message).put_bytes(0, string) unless string.empty?
            message
          end
        end

        PATH = locate
        ffi_lib PATH
        begin
          attach_function :zmq_version, %i[pointer pointer pointer], :void
          Libzmq.check_version(loaded_version, PATH, INSTEAD)
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
          # The same with addresses, since a number crosses in half of a pointer's time on CRuby.
          attach_function :send_string, :zmq_send, %i[ulong buffer_in size_t int], :int
          attach_function :receive, :zmq_msg_recv, %i[ulong ulong int], :int
          attach_function :more, :zmq_msg_more, %i[ulong], :int
          attach_function :data, :zmq_msg_data, %i[ulong], :ulong
          attach_function :zmq_socket_monitor, %i[pointer string int], :int
        rescue ::FFI::NotFoundError => error
          raise LoadError,
            "#{PATH} is no libzmq that Godwit knows: #{error.message}\n  install " \
            "one: #{Libzmq::PACKAGES}\n  #{INSTEAD}",
            cause: nil
        end
      end

      class << self
        def libzmq_version = Zmq.loaded_version

        def has(feature) = Zmq.zmq_has(feature) == 1

        def draft? = Drafts::AVAILABLE

        # Type, whether it listens, family: numbers of <sys/socket.h>; nil when it is no open
        # socket. JRuby's own getsockopt knows but few.
        def socket_facts(number)
          type, listens, family =
            [LibC::SO_TYPE, LibC::SO_ACCEPTCONN, LibC::SO_DOMAIN].map do |option|
              LibC.socket_option(number, option)
            end
          [type, listens == 1, family] if type
        end

        # @param secret_key [String, nil] nil: a new one
        # @return [Array(String, String), nil] public and secret key as Z85; nil without CURVE
        def curve_keypair(secret_key)
          keys = Array.new(2) { ::FFI::MemoryPointer.new(41) }
          return keys.map(&:read_string) if secret_key.nil? && Zmq.zmq_curve_keypair(*keys).zero?
          if secret_key && Zmq.zmq_curve_public(keys.first, secret_key).zero?
            [keys.first.read_string, secret_key]
          end
        end
      end
    end
  end
end
