# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Decides which message of a {DiskQueue} is sent next, by the receiver's protocol, and counts
    # the bytes that are sent but not acknowledged.
    class SendWindow
      CHUNK = 1 << 18 # about the most bytes of a message
      WINDOW = 4 << 20 # most bytes that are sent and not yet acknowledged
      RETRY = 1.0 # seconds without progress until the sender sends HELLO again

      # A sent message that is not acknowledged yet: the last seq and the bytes of its entries.
      Flying = Struct.new(:last, :bytes)

      def initialize(queue)
        @queue = queue
        @highest = queue.last # the highest seq that was sent, or that the queue had at the start
        renamed
      end

      attr_reader :queue, :key
      # @return [Boolean] whether the receiver has answered on this connection
      def established? = @state == :established

      # Makes a HELLO the next message: on a new connection, or after messages were lost.
      def begin_anew
        @state = :new
        @flying = []
        @bytes = 0
      end

      def peek(now)
        begin_anew if @state != :new && !idle? && now >= @deadline
        return hello if @state == :new
        data if established? && @bytes < WINDOW
      end

      def sent(now)
        @deadline = now + RETRY if idle?
        return @state = :hello_sent if @state == :new
        chunk = @queue.peek(CHUNK)
        @queue.sent_to(chunk.last)
        @flying << Flying.new(chunk.last, chunk.entries.bytesize)
        @bytes += chunk.entries.bytesize
        @highest = [@highest, chunk.last].max
      end

      # @return [Float, nil] when to call {#peek} again if no answer comes; nil: none is expected
      def due = idle? ? nil : @deadline

      # Returns false when the receiver has records with this id that this queue never sent.
      def establish(last)
        return true unless @state == :hello_sent
        return false if last > @highest
        @queue.release(last)
        @queue.rewind([last, @queue.released].max)
        @state = :established
        true
      end

      # Reads the id of the queue, which may be new, and begins anew.
      def renamed
        @key = [@queue.id].pack("H*")
        begin_anew
      end

      def acknowledged(seq, now)
        return false if !established? || seq > @highest || seq <= @queue.released
        @bytes -= @flying.shift.bytes while @flying.any? && @flying.first.last <= seq
        @queue.release(seq)
        @deadline = now + RETRY
        true
      end

      private

      # Whether no answer is expected: nothing was sent, or all that was sent is acknowledged.
      def idle? = @state == :new || (established? && @flying.empty?)
      def hello = [Wire::HELLO, @key, Wire.number(@queue.released), Wire.number(Wire::VERSION)]

      def data
        chunk = @queue.peek(CHUNK) or return
        [Wire::DATA, @key, Wire.number(@queue.sent), chunk.entries]
      end
    end
    private_constant :SendWindow
  end
end
