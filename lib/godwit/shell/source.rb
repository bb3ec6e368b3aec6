# frozen_string_literal: true

module Godwit
  module Shell
    # One pipe of a command, its rows, and the block that gets them.
    # @private
    class Source
      attr_reader :io
      # @return [Boolean] whether the caller of {#read} gets the rows
      def yields? = @receiver.nil?

      # @param kind [Symbol, nil] yields [kind, row] instead of row
      # @param receiver [Proc, nil] gets each row instead of the caller of {#read}
      def initialize(
        io, plan, kind: nil, sep: plan.sep, encoding: plan.encoding, reuse: plan.reuse, &receiver
      )
        @io = io
        @kind = kind
        @receiver = receiver
        @rows = Rows.new
        @rows.open(io, (sep == :chunk) ? nil : sep.b, plan.limit, Plan::LONGER.fetch(plan.long),
          plan.chomp, encoding, reuse)
      end

      # @param deadline [Integer] ms on the monotonic clock; -1: none
      # @return [Integer] ROWS_MORE and so on, of {ShellConstants}
      def read(deadline, &block)
        return @rows.read(deadline, &@receiver) if @receiver
        return @rows.read(deadline, &block) unless @kind
        @rows.read(deadline) { |row| block.call([@kind, row]) }
      end

      def rows = @rows.rows
      def bytes = @rows.bytes

      def close
        @rows.close
        @io.close
      end
    end

    # The last bytes of a stream, in two buffers. When the newer one is full, the older one becomes
    # empty at once, without the garbage collector.
    # @private
    class Tail
      MAX = 65_536

      def initialize
        @older = String.new(encoding: Encoding::BINARY)
        @newer = String.new(encoding: Encoding::BINARY)
      end

      def <<(chunk)
        if @newer.bytesize + chunk.bytesize > MAX
          @older.clear
          @older, @newer = @newer, @older
        end
        @newer << chunk
        self
      end

      # @return [String] begins with a whole character
      def to_s(encoding)
        text = @older + @newer
        text = text.byteslice(-MAX, MAX) if text.bytesize > MAX
        text.force_encoding(encoding)
        return text unless encoding == Encoding::UTF_8
        text = text.byteslice(1..) while text.getbyte(0).to_i & 0xc0 == 0x80
        text
      end
    end
  end
end
