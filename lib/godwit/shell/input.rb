# frozen_string_literal: true

module Godwit
  module Shell
    # Reads the object of an `input:` that the command cannot read itself.
    # @private
    class Input
      PIECE = 65_536

      def initialize(operation, object)
        @operation = operation
        @object = object
      end

      def each_piece(&block)
        case @object
        when String then pieces_of_text(@object, &block)
        when Socket, Pull then @object.each { |message| yield line(message) }
        when Stream then @object.each { |row| yield @object.written(row) }
        else
          return pieces_of_file(&block) if Redirection.file?(@object)
          return pieces_of_reader(&block) if Redirection.reads?(@object)
          @object.each { |piece| yield piece.to_s }
        end
      end

      private

      def pieces_of_text(text)
        0.step(text.bytesize - 1, PIECE) { |from| yield text.byteslice(from, PIECE) }
      end

      def pieces_of_file(&block)
        file = Redirection.open(@operation, :input, @object)
        Input.new(@operation, file).each_piece(&block)
      ensure
        file&.close
      end

      def pieces_of_reader
        io = Redirection.io(@object)
        while (piece = io ? piece_of_io(io) : piece_of_object)
          yield piece
        end
      end

      # While an IO has converted characters in its buffer, `readpartial` raises IOError.
      def piece_of_io(io)
        io.readpartial(PIECE)
      rescue EOFError
        nil
      rescue IOError
        io.getc&.encode(io.external_encoding)
      end

      # `read` waits for all bytes of a piece: too long for a connection or a pipe that stays open.
      # So TLS connections and ARGF are read with `readpartial`.
      def piece_of_object
        return @object.read(PIECE) unless connection? || @object.equal?(ARGF)
        @object.readpartial(PIECE)
      rescue EOFError
        nil
      end

      def connection? = defined?(::OpenSSL::Buffering) && @object.is_a?(::OpenSSL::Buffering)

      # @return [String] a message as a line, with tabs between its frames
      def line(message)
        text = message.is_a?(Array) ? message.join("\t") : message
        text.end_with?("\n", "\0") ? text : "#{text}\n"
      end
    end
  end
end
