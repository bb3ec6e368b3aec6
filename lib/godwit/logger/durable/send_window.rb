# frozen_string_literal: true

require_relative "wire"

module Godwit
  class Logger < ::Logger
    # How far one store's records have come on their way to a receiver: what to send next, and what
    # an answer means. It sends nothing itself.
    # @private
    class SendWindow
      # Bytes of one message, about.
      CHUNK = 1 << 18
      # Bytes under way without an answer, at most.
      WINDOW = 4 << 20
      # Seconds without progress until it says hello again.
      RETRY = 1.0

      # @param store [Store]
      def initialize(store)
        @store = store
        @segments = store.segments
        @key = [store.id].pack("H*")
        @highest = @segments.last # ever sent, or there at the start
        begin_anew
      end

      attr_reader :store, :key

      # @return [Boolean] whether the receiver has answered, since the connection was made
      def welcome? = @state == :welcome

      # The connection is new, or something was lost.
      def begin_anew
        @state = :new
        @ready = nil
        @flying = []
        @bytes = 0
      end

      # @param now [Float]
      # @return [Array<String>, nil] the message to send next; {#sent} tells that it went
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

      # @return [Float, nil] when to look again if nothing happens
      def due = idle? ? nil : @deadline

      # @param last [Integer] all up to this is in the receiver's file
      # @return [Boolean] false: it has records under this id that were never sent from here
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

      # @return [Boolean] whether that is news
      def acknowledged(seq, now)
        return false if !welcome? || seq > @highest || seq <= @segments.released
        @bytes -= @flying.shift.last while @flying.any? && @flying.first.first <= seq
        @segments.release(seq)
        @deadline = now + RETRY
        true
      end

      # Whether it waits for nothing.
      def idle? = @state == :new || (welcome? && @flying.empty?)

      private

      def hello = [Wire::HELLO, @key, Wire.number(@segments.released), Wire.number(Wire::VERSION)]

      def data
        found = @segments.read(@cursor, CHUNK) or return
        [[Wire::DATA, @key, Wire.number(@last), found.first], found]
      end
    end
    private_constant :SendWindow
  end
end
