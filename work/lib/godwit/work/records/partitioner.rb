# frozen_string_literal: true

require "zlib"

module Godwit
  module Work
    # The hash functions that map a key to a partition. All programs must use the same for a topic.
    # @private
    module Partitioner
      NAMES = %i[crc32 murmur2].freeze
      POSITIVE = 0x7fffffff
      WORD = 0xffffffff
      SEED = 0x9747b28c
      FACTOR = 0x5bd1e995

      module_function

      # @param name [Symbol] of NAMES
      # @return [Integer] 0 or more
      def hash(name, key)
        (name == :murmur2) ? murmur2(key) & POSITIVE : Zlib.crc32(key)
      end

      # The hash of `Utils.murmur2` in Kafka's Java client, as an unsigned number.
      def murmur2(key)
        hash = SEED ^ key.bytesize
        key.unpack("V*").each do |word|
          word = (word * FACTOR) & WORD
          word = ((word ^ (word >> 24)) * FACTOR) & WORD
          hash = ((hash * FACTOR) & WORD) ^ word
        end
        rest = key.bytesize % 4
        if rest > 0
          key.byteslice(-rest, rest).each_byte.with_index { |byte, at| hash ^= byte << (8 * at) }
          hash = (hash * FACTOR) & WORD
        end
        hash = ((hash ^ (hash >> 13)) * FACTOR) & WORD
        hash ^ (hash >> 15)
      end
    end
  end
end
