# frozen_string_literal: true

module Godwit
  module Options
    # How libzmq reads and writes a socket's options, for the backends.
    # @private
    module Wire
      KINDS = %i[int int64 uint64 bytes string].freeze
      # The kind (of KINDS) of each type of options; the types that are not listed have :int.
      KIND_OF = {
        int64: :int64, uint64: :uint64, bytes: :bytes, key: :bytes, id32: :bytes, text: :string
      }.freeze

      # @return [Integer] bytes of the longest value; 0: the size is fixed, or nobody can read it
      def self.max(option)
        return 0 unless option.readable?
        case option.type
        when :key then 32
        when :id32 then 4
        when :bytes then option.max
        when :text then option.max + 1 # libzmq appends a NUL to a text
        else 0
        end
      end

      # The index of an option's kind in KINDS, and its {max}, by the option's number.
      TABLE = Runtime.shareable(
        SOCKET.each_value.to_h do |option|
          [option.id, [KINDS.index(KIND_OF.fetch(option.type, :int)), max(option)]]
        end
      )
    end
  end
end
