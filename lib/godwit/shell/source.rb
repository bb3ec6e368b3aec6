# frozen_string_literal: true

require_relative "rows"

module Godwit
  module Shell
    # One pipe of a command, its rows, and the block that gets them.
    # @private
    class Source < Rows
      attr_reader :io
      # @return [Boolean] whether the caller of {#read} gets the rows
      def yields? = @receiver.nil?

      # @param kind [Symbol, nil] yields [kind, row] instead of row
      # @param receiver [Proc, nil] gets each row instead of the caller of {#read}
      def initialize(
        io, plan, kind: nil, sep: plan.sep, encoding: plan.encoding, reuse: plan.reuse, &receiver
      )
        super(io, (sep == :chunk) ? nil : sep.b, plan.limit, plan.long, plan.chomp, encoding, reuse)
        @kind = kind
        @receiver = receiver
      end

      # (see Rows#read)
      def read(deadline, &block)
        return super(deadline, &@receiver) if @receiver
        return super unless @kind
        super { |row| block.call([@kind, row]) }
      end

      def close
        super
        @io.close
      end
    end

    # Stores the last bytes of a pipe in the buffer, and yields no rows.
    # @private
    class Tail < Source
      MAX = 65_536

      # Drops old bytes, and reads once from the pipe.
      def read(_deadline)
        @progress[START] = @buffer.bytesize - MAX if @buffer.bytesize > 2 * MAX
        fill
      end

      # @return [String] the last 64 KiB, from the first whole character
      def text(encoding)
        text = @buffer.byteslice([@buffer.bytesize - MAX, 0].max..).force_encoding(encoding)
        return text unless encoding == Encoding::UTF_8
        text = text.byteslice(1..) while text.getbyte(0).to_i & 0xc0 == 0x80
        text
      end
    end
  end
end
