# frozen_string_literal: true

module Godwit
  module Shell
    # The last bytes of a stream, in two buffers: when the newer one is full the older one is freed,
    # at once and not by the collector.
    # @private
    class Tail
      MOST = 65_536

      def initialize
        @older = String.new(encoding: Encoding::BINARY)
        @newer = String.new(encoding: Encoding::BINARY)
      end

      def <<(chunk)
        if @newer.bytesize + chunk.bytesize > MOST
          @older.clear
          @older, @newer = @newer, @older
        end
        @newer << chunk
        self
      end

      # @return [String] from a whole character on
      def to_s(encoding)
        text = @older + @newer
        text = text.byteslice(-MOST, MOST) if text.bytesize > MOST
        text.force_encoding(encoding)
        text = text.byteslice(1..) until encoding != Encoding::UTF_8 || text.empty? ||
            text.getbyte(0) & 0xc0 != 0x80
        text
      end
    end
  end
end
