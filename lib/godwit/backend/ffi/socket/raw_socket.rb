# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # A socket of libzmq, and the calls on it. None of them waits. The lock of its SocketHandle is
    # held.
    class RawSocket
      EVENTS, FD = %i[events zmq_fd].map { |name| Options.fetch(name).id }
      FORMATS = {int: "i", int64: "q", uint64: "Q"}.freeze
      # How libzmq takes and gives an option, by the type that api/options.yml gives it; else int.
      WIRE = {
        int64: :int64, uint64: :uint64, bytes: :bytes, key: :bytes, id32: :bytes, text: :text
      }.freeze
      KEY_BYTES = 32 # libzmq gives a key as text where there is room for that
      BUFFER = 1024 # bytes, for the longest text
      OPTIONS = Options::SOCKET.each_value.to_h { |option| [option.id, option.type] }.freeze
      private_constant :EVENTS, :FD, :FORMATS, :WIRE, :KEY_BYTES, :BUFFER, :OPTIONS

      # @return [::FFI::Pointer] libzmq's
      attr_reader :pointer
      # @return [Integer] the pointer's number, which crosses faster
      attr_reader :address
      # @return [Integer] libzmq's ZMQ_FD
      attr_reader :fd

      # @param context [ContextHandle]
      # @raise [Failed]
      def initialize(context, type)
        @pointer = context.make_socket(type)
        @address = @pointer.address
        @buffer = ::FFI::MemoryPointer.new(BUFFER)
        @size = ::FFI::MemoryPointer.new(:size_t)
        @fd = get(FD)
        made = true
      ensure
        Zmq.zmq_close(@pointer) if @pointer && !made
      end

      # @return [Integer] libzmq's bits; it has also emptied its mailbox
      # @raise [Failed]
      def events = get(EVENTS)

      # @raise [Failed]
      def get(id)
        type = type_of(id)
        format = FORMATS[type]
        @size.put(:size_t, 0, room(id, format))
        code = -EINTR
        code = Zmq.result(Zmq.zmq_getsockopt(@pointer, id, @buffer, @size)) while code == -EINTR
        raise Failed, -code if code < 0
        raw = @buffer.read_bytes(@size.get(:size_t, 0))
        return raw.unpack1(format) if format
        (type == :text) ? raw.delete_suffix("\0") : raw
      end

      # @raise [Failed]
      def set(id, value)
        format = FORMATS[type_of(id)]
        raw = format ? [value].pack(format) : value
        code = Zmq.zmq_setsockopt(@pointer, id, raw, raw ? raw.bytesize : 0)
        raise Failed, ::FFI.errno if code != 0
      end

      # @param message [::FFI::MemoryPointer] a zmq_msg_t for one frame
      # @return [Integer] its bytes; or an errno below zero
      def receive(message) = repeated { Zmq.zmq_msg_recv(message, @pointer, DONTWAIT) }

      # @return [Integer] an errno, or 0
      def send_bytes(bytes, flags)
        -[repeated { Zmq.zmq_send(@pointer, bytes, bytes.bytesize, flags | DONTWAIT) }, 0].min
      end

      # @return [Integer] an errno, or 0
      def send_message(message, flags)
        -[repeated { Zmq.zmq_msg_send(message, @pointer, flags | DONTWAIT) }, 0].min
      end

      # Sends empty frames to the end of a cut message.
      def push_rest(remaining)
        remaining.downto(1) { |more| send_bytes("", (more > 1) ? SNDMORE : 0) }
      end

      # An edge-triggered epoll remembers what happened to ZMQ_FD since the last call.
      # @return [Boolean]
      def edge_passed?
        LibC.edge?(@edges ||= LibC.edges_of(@fd))
      rescue Failed
        true # no descriptor is left for the epoll
      end

      # @param linger [Integer, nil] ms; nil: the socket's own
      def close(linger = nil)
        set(Options.fetch(:linger).id, linger) if linger
      rescue Failed
        nil # the context was terminated
      ensure
        @edges&.close
        Zmq.zmq_close(@pointer)
      end

      private

      # Calls libzmq again when a signal ended the call.
      # @return [Integer] what libzmq gave, or an errno below zero
      def repeated
        code = -EINTR
        code = Zmq.result(yield) while code == -EINTR
        code
      end

      def type_of(id)
        type = OPTIONS.fetch(id) do
          raise ::ArgumentError, "no socket option has the number #{id}"
        end
        WIRE.fetch(type, :int)
      end

      def room(id, format)
        return [0].pack(format).bytesize if format
        (OPTIONS[id] == :key) ? KEY_BYTES : BUFFER
      end
    end
  end
end
