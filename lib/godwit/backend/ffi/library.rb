# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # libzmq's functions, under their own names.
    module Zmq
      extend ::FFI::Library

      NAMES = %w[libzmq.so.5 libzmq.so].freeze
      FOLDER = "/usr/local/lib" # not every loader searches this folder
      INSTEAD = "or name the file: GODWIT_LIBZMQ=/path/to/libzmq.so.5"
      # 0x1000 is RTLD_NODELETE: the gem ffi unloads a library when its object is freed, while
      # libzmq's threads may still run.
      FLAGS = ::FFI::DynamicLibrary::RTLD_LAZY | ::FFI::DynamicLibrary::RTLD_LOCAL | 0x1000
      MESSAGE_SIZE = 128 # bytes for a zmq_msg_t, which has 64
      # A read of any address uses its offset from this pointer, so that a message needs no pointer
      # of its own. The pointer is to 1, since the gem ffi refuses to read from a pointer to 0.
      MEMORY = ::FFI::Pointer.new(1)

      class << self
        def locate(wanted = ENV["GODWIT_LIBZMQ"].to_s)
          names = NAMES + NAMES.map { |name| File.join(FOLDER, name) }
          names = [wanted] unless wanted.empty?
          messages = names.map do |name|
            ::FFI::DynamicLibrary.open(name, FLAGS)
            return name
          rescue LoadError => error
            error.message.lines.first.to_s.strip
          end
          where = "GODWIT_LIBZMQ"
          if wanted.empty?
            names = NAMES
            where = "#{Backend::Libzmq.folders}, #{FOLDER}"
          end
          raise Backend::Libzmq.not_found(names, where, messages, INSTEAD)
        end

        # @return [Integer] the code, or for -1 the errno as a negative number
        def result(code) = (code < 0) ? -::FFI.errno : code

        def loaded_version
          numbers = Array.new(3) { ::FFI::MemoryPointer.new(:int) }
          zmq_version(*numbers)
          numbers.map(&:read_int)
        end

        def bytes(address, size) = MEMORY.get_bytes(address - 1, size)

        def new_message
          ::FFI::MemoryPointer.new(MESSAGE_SIZE).tap { |message| zmq_msg_init(message) }
        end
      end

      PATH = locate
      ffi_lib PATH
      begin
        attach_function :zmq_version, %i[pointer pointer pointer], :void
        Backend::Libzmq.check_version(loaded_version, PATH, INSTEAD)
        attach_function :zmq_has, %i[string], :int
        attach_function :zmq_ctx_term, %i[pointer], :int, blocking: true
        {
          zmq_curve_keypair: %i[pointer pointer], zmq_curve_public: %i[pointer string],
          zmq_ctx_shutdown: %i[pointer], zmq_ctx_set: %i[pointer int int],
          zmq_ctx_get: %i[pointer int], zmq_close: %i[pointer],
          zmq_setsockopt: %i[pointer int buffer_in size_t],
          zmq_getsockopt: %i[pointer int pointer pointer],
          zmq_bind: %i[pointer string], zmq_connect: %i[pointer string],
          zmq_unbind: %i[pointer string], zmq_disconnect: %i[pointer string],
          zmq_send: %i[pointer buffer_in size_t int], zmq_msg_init: %i[pointer],
          zmq_msg_close: %i[pointer], zmq_msg_more: %i[pointer],
          zmq_msg_recv: %i[pointer pointer int], zmq_socket_monitor: %i[pointer string int]
        }.each { |name, arguments| attach_function name, arguments, :int }
        attach_function :zmq_ctx_new, [], :pointer
        attach_function :zmq_socket, %i[pointer int], :pointer
        attach_function :zmq_msg_data, %i[pointer], :pointer
        attach_function :zmq_msg_gets, %i[pointer string], :string
        # The next functions accept addresses as numbers: the gem ffi passes numbers faster.
        attach_function :send_string, :zmq_send, %i[ulong buffer_in size_t int], :int
        attach_function :receive, :zmq_msg_recv, %i[ulong ulong int], :int
        attach_function :more, :zmq_msg_more, %i[ulong], :int
        attach_function :data, :zmq_msg_data, %i[ulong], :ulong
      rescue ::FFI::NotFoundError => error
        raise LoadError, "#{PATH} is no libzmq that Godwit knows: #{error.message}\n" \
          "  install one: #{Backend::Libzmq::PACKAGES}\n  #{INSTEAD}", cause: nil
      end
    end
  end
end
