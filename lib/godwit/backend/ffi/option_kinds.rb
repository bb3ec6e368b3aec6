# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # How libzmq takes and gives each socket option, from the same table as the C extension's.
      # @private
      module OptionKinds
        Kind = Struct.new(:id, :type, :size)
        FORMATS = {int: "i", int64: "q", uint64: "Q"}.freeze

        TABLE =
          Header::OPTION_KINDS
            .to_h { |id, (type, size)| [id, Kind.new(id, type, size).freeze] }
            .freeze

        module_function

        def fetch(id)
          TABLE.fetch(id) { raise ::ArgumentError, "no socket option has the number #{id}" }
        end

        # @raise [Failed]
        def get(zmq, kind)
          number = FORMATS[kind.type]
          length = number ? [0].pack(number).bytesize : kind.size
          buffer = ::FFI::MemoryPointer.new(length)
          size = ::FFI::MemoryPointer.new(:size_t)
          size.put(:size_t, 0, length)
          loop do
            break if Zmq.zmq_getsockopt(zmq, kind.id, buffer, size).zero?
            error = ::FFI.errno
            raise Failed, error unless yield error
          end
          raw = buffer.read_bytes(size.get(:size_t, 0))
          return raw.unpack1(number) if number
          (kind.type == :string) ? raw.delete_suffix("\0") : raw
        end

        # @return [Integer] an errno, or 0
        def set(zmq, kind, value)
          format = FORMATS[kind.type]
          raw = format ? [value].pack(format) : value
          if Zmq.zmq_setsockopt(zmq, kind.id, raw, raw.nil? ? 0 : raw.bytesize).zero?
            0
          else
            ::FFI.errno
          end
        end
      end
    end
  end
end
