# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # The messages between a durable writer (DEALER) and its receiver (ROUTER): a verb, the writer's
    # id (16 bytes), and numbers (u64, big-endian) unless noted.
    #
    #   HELLO   id seq version   writer: up to seq all has been acknowledged to it
    #   DATA    id prev entries  writer: entries as in {SegmentedLog}, and the seq before the first
    #   WELCOME id seq           receiver, to HELLO: its file has all up to seq
    #   ACK     id seq           receiver: its file has all up to seq
    #   WHAT    id seq           receiver wants a HELLO: the writer is unknown, or DATA is missing
    #   TROUBLE id text          receiver: it cannot write
    module Wire
      VERSION = 1
      HELLO = "godwit-log-hello"
      DATA = "D"
      WELCOME = "godwit-log-welcome"
      ACK = "A"
      WHAT = "?"
      TROUBLE = "!"

      module_function

      def number(value) = [value].pack("Q>")
      def value(bytes) = (bytes&.bytesize == 8) ? bytes.unpack1("Q>") : nil
    end
    private_constant :Wire

    # How far a receiver has one store's records: what to send next, and what an answer means. It
    # sends nothing itself.
    class SendWindow
      CHUNK = 1 << 18 # bytes of one message, about
      WINDOW = 4 << 20 # bytes sent and not acknowledged, at most
      RETRY = 1.0 # seconds without progress until it sends HELLO again

      def initialize(store)
        @store = store
        @segments = store.segments
        @key = [store.id].pack("H*")
        @highest = @segments.last # ever sent, or there at the start
        begin_anew
      end

      attr_reader :store, :key
      # @return [Boolean] whether the receiver has answered on this connection
      def welcome? = @state == :welcome

      # The connection is new, or something was lost.
      def begin_anew
        @state = :new
        @ready = nil
        @flying = []
        @bytes = 0
      end

      def peek(now)
        begin_anew if @state != :new && !idle? && now >= @deadline
        return hello if @state == :new
        @ready ||= data if welcome? && @bytes < WINDOW
        @ready&.first
      end

      def sent(now)
        @deadline = now + RETRY if idle?
        return @state = :greeted if @state == :new
        entries, last, @cursor = @ready.last
        @ready = nil
        @flying << [last, entries.bytesize]
        @bytes += entries.bytesize
        @last = last
        @highest = [@highest, last].max
      end

      # @return [Float, nil] when to call {#peek} again if nothing happens
      def due = idle? ? nil : @deadline

      # @param last [Integer] the receiver's file has all up to this
      # @return [Boolean] false: it has records under this id that this store never sent
      def welcomed(last)
        return true unless @state == :greeted
        return false if last > @highest
        @segments.release(last)
        @state = :welcome
        @last = [last, @segments.released].max
        @cursor = @segments.after(@last)
        true
      end

      # The store has another id.
      def renamed
        @key = [@store.id].pack("H*")
        begin_anew
      end

      def acknowledged(seq, now)
        return false if !welcome? || seq > @highest || seq <= @segments.released
        @bytes -= @flying.shift.last while @flying.any? && @flying.first.first <= seq
        @segments.release(seq)
        @deadline = now + RETRY
        true
      end

      private

      # Whether no answer is due.
      def idle? = @state == :new || (welcome? && @flying.empty?)
      def hello = [Wire::HELLO, @key, Wire.number(@segments.released), Wire.number(Wire::VERSION)]

      def data
        found = @segments.read(@cursor, CHUNK) or return
        [[Wire::DATA, @key, Wire.number(@last), found.first], found]
      end
    end
    private_constant :SendWindow
  end
end
