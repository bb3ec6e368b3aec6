# frozen_string_literal: true

module Godwit
  module Perf
    # Numbered messages of one size. A message begins with its number, modulo the number of
    # different messages. The sender and the receiver each make the Strings once, so that a check
    # costs one comparison a message.
    class Sequence
      MAX_BITS = 16 # at most 2**16 messages are different; then the numbers repeat
      BYTES = 32 << 20 # most bytes of all different messages, unless two messages need more
      NUMBER_BYTES = 8
      QUEUED = 64 << 20 # most bytes of messages in the queue of the sender, or of the receiver
      MESSAGES = 1_000 # most messages in either queue; libzmq's default is the same

      # @param size [Integer] bytes of a message; messages of 0 bytes have no number
      def initialize(size)
        @size = size
        @width = [size, NUMBER_BYTES].min
        @messages = Array.new(different) { |number| message(number) }.freeze
        @mask = @messages.size - 1
      end

      # @return [Array<String>] the different messages, frozen; their count is a power of two
      attr_reader :messages
      attr_reader :mask

      # @return [Integer, nil] the index of the message in {#messages}; nil: it is not among them
      def number(message)
        return unless message.is_a?(String) && message.bytesize == @size
        number = message.byteslice(0, @width).rjust(NUMBER_BYTES, "\0").unpack1("Q>")
        number if number <= @mask && message == @messages[number]
      end

      def hwm = @size.zero? ? MESSAGES : (QUEUED / @size).clamp(1, MESSAGES)

      private

      def different
        return 1 if @size.zero?
        1 << [[BYTES / @size, 2].max.bit_length - 1, 8 * @size, MAX_BITS].min
      end

      def message(number)
        digits = [number].pack("Q>").byteslice(NUMBER_BYTES - @width, @width)
        digits.ljust(@size, "x").freeze
      end
    end
    private_constant :Sequence

    # Counts messages of a {Sequence}: received, lost, duplicated and out of order.
    class SequenceCheck
      MAX_MISSING = 100_000 # most stored missing numbers; another late one counts as a duplicate
      COUNTS = %i[received lost duplicated out_of_order foreign].freeze

      def initialize(sequence)
        @sequence = sequence
        @messages = sequence.messages
        @mask = sequence.mask
        @next = @received = @lost = @duplicated = @out_of_order = @foreign = 0
        @missing = {}
      end

      attr_reader :received, :lost, :duplicated, :out_of_order, :foreign

      def count(message)
        if @messages[@next & @mask] == message
          @next += 1
          @received += 1
        else
          count_unexpected(message)
        end
      end

      def to_h = COUNTS.to_h { |name| [name.to_s, public_send(name)] }

      def finish(sent)
        gap = sent - @next
        @lost += gap if gap.positive?
        @next = sent
      end

      private

      # Counts a message whose number is not the next one. If the number is ahead by at most half of
      # all different numbers, messages before it are missing; else the message is late.
      def count_unexpected(message)
        number = @sequence.number(message) or return @foreign += 1
        ahead = (number - @next) & @mask
        (ahead <= @mask / 2) ? count_after_gap(ahead) : count_late(@next - (@mask + 1 - ahead))
      end

      def count_after_gap(ahead)
        ahead.times { |index| @missing[@next + index] = true if @missing.size < MAX_MISSING }
        @lost += ahead
        @received += 1
        @next += ahead + 1
      end

      def count_late(number)
        return @duplicated += 1 unless @missing.delete(number)
        @out_of_order += 1
        @received += 1
        @lost -= 1
      end
    end
    private_constant :SequenceCheck
  end
end
