# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Stands in a {BoundedQueue} behind the entries that a caller of `flush` waits for.
    class FlushMark
      BYTES = LoggerConstants::ENTRY_BYTES

      def initialize = @sent = nil
      # @param sent [Boolean] whether the sender has sent the entries before the mark
      def answer(sent) = @sent = sent
      def answered? = !@sent.nil?
      def sent? = @sent || false
      # @return [Integer] as {Entry#bytes}
      def bytes = BYTES
    end
    private_constant :FlushMark
  end
end
