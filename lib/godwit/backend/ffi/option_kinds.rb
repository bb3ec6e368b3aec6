# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # How libzmq takes and gives each socket option, from the same table as the C extension's.
    module OptionKinds
      FORMATS = {int: "i", int64: "q", uint64: "Q"}.freeze

      module_function

      # @return [Array(Symbol, Integer)] type, and bytes where the type does not tell
      def fetch(id)
        OPTION_KINDS.fetch(id) do
          raise ::ArgumentError, "no socket option has the number #{id}"
        end
      end

      # @raise [Failed]
      def get(zmq, id)
        type, length = fetch(id)
        format = FORMATS[type]
        length = [0].pack(format).bytesize if format
        buffer = ::FFI::MemoryPointer.new(length)
        size = ::FFI::MemoryPointer.new(:size_t)
        size.put(:size_t, 0, length)
        code = -EINTR
        code = Zmq.result(Zmq.zmq_getsockopt(zmq, id, buffer, size)) while code == -EINTR
        raise Failed, -code if code < 0
        raw = buffer.read_bytes(size.get(:size_t, 0))
        return raw.unpack1(format) if format
        (type == :string) ? raw.delete_suffix("\0") : raw
      end

      # @raise [Failed]
      def set(zmq, id, value)
        format = FORMATS[fetch(id).first]
        raw = format ? [value].pack(format) : value
        raise Failed, ::FFI.errno if Zmq.zmq_setsockopt(zmq, id, raw, raw ? raw.bytesize : 0) != 0
      end
    end
  end
end
