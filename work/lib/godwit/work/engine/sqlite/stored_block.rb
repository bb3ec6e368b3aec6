# frozen_string_literal: true

require "zlib"

module Godwit
  module Work
    # A block as an SQLite file stores it: a version and a CRC-32 before the block's bytes.
    # @private
    class StoredBlock < Block
      VERSION = 1
      HEAD = "CV" # the format by which Array#pack packs the version and the CRC-32 of the rest
      BODY = 5 # index of the bytes that the CRC-32 covers

      # @param bytes [String] the result of {Block.encode}
      # @return [String] the bytes that the file stores
      def self.seal(bytes) = [VERSION, Zlib.crc32(bytes)].pack(HEAD) << bytes

      # @param bytes [String] the result of {seal}
      # @param offset [Integer] of the first record
      # @param time [Integer] in milliseconds since 1970
      # @param where [String] topic, partition and offset, for errors
      # @raise [CorruptError] for a wrong CRC-32 or another version
      def initialize(bytes, offset, time, where)
        version, crc = bytes.unpack(HEAD)
        check(version, crc, bytes, where)
        super(bytes, offset, time, BODY)
      end

      private

      def check(version, crc, bytes, where)
        unless version == VERSION
          raise CorruptError, "#{where}: a block of version #{version.inspect}; this godwit-work " \
            "reads version #{VERSION}: update it, or restore the file from a backup"
        end
        return if Zlib.crc32(bytes.byteslice(BODY, bytes.bytesize)) == crc
        raise CorruptError, "#{where}: a block has a wrong CRC-32: restore the file from a backup"
      end
    end
  end
end
