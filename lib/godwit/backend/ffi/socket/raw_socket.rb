# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # A socket of libzmq, and the calls on it, which never wait. Callers hold SocketHandle#lock.
    class RawSocket
      EVENTS, FD = %i[events zmq_fd].map { |name| Options.fetch(name).id }
      FORMATS = {int: "i", int64: "q", uint64: "Q"}.freeze
      BUFFER = 1024 # bytes of the buffer for an option's text

      attr_reader :pointer
      # @return [Integer] the pointer as a number, which FFI passes faster
      attr_reader :address
      attr_reader :fd

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

      # Reads ZMQ_EVENTS. This call also makes libzmq empty the socket's mailbox.
      def events = get(EVENTS)

      def get(id)
        kind, max = wire(id)
        format = FORMATS[kind]
        max = format ? [0].pack(format).bytesize : BUFFER if max.zero?
        @size.put(:size_t, 0, max)
        code = repeated { Zmq.zmq_getsockopt(@pointer, id, @buffer, @size) }
        raise Failed, -code if code < 0
        raw = @buffer.read_bytes(@size.get(:size_t, 0))
        return raw.unpack1(format) if format
        (kind == :string) ? raw.delete_suffix("\0") : raw
      end

      def set(id, value)
        format = FORMATS[wire(id).first]
        raw = format ? [value].pack(format) : value
        code = Zmq.zmq_setsockopt(@pointer, id, raw, raw ? raw.bytesize : 0)
        raise Failed, ::FFI.errno if code != 0
      end

      # @return [Integer] bytes of the frame, or the errno as a negative number
      def receive(message) = repeated { Zmq.zmq_msg_recv(message, @pointer, DONTWAIT) }

      # @return [Integer] an errno, or 0
      def send_bytes(bytes, flags)
        -[repeated { Zmq.zmq_send(@pointer, bytes, bytes.bytesize, flags | DONTWAIT) }, 0].min
      end

      # Sends empty frames in place of the frames that remained when a peer vanished.
      def push_rest(remaining)
        remaining.downto(1) { |more| send_bytes("", (more > 1) ? SNDMORE : 0) }
      end

      # @return [Boolean] whether ZMQ_FD was written or read since the last call of this method
      def edge_passed?
        LibC.edge?(@edges ||= LibC.edges_of(@fd))
      rescue Failed
        true # no descriptor is free for the epoll
      end

      # @param linger [Integer, nil] ms; nil: the linger that the socket has
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
      def repeated
        code = -EINTR
        code = Zmq.result(yield) while code == -EINTR
        code
      end

      # @return [Array(Symbol, Integer)] an option's kind; bytes of its longest value, 0: unknown
      def wire(id)
        kind, max = Options::Wire::TABLE.fetch(id) do
          raise ::ArgumentError, "no socket option has the number #{id}"
        end
        [Options::Wire::KINDS[kind], max]
      end
    end
  end
end
