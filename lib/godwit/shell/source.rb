# frozen_string_literal: true

module Godwit
  module Shell
    # One stream that is read from: its pipe, its rows, and who gets them.
    # @private
    class Source
      # What Rows#take answers.
      MORE = Constants::ROWS_MORE
      WAIT = Constants::ROWS_WAIT
      ENDED = Constants::ROWS_ENDED
      LATE = Constants::ROWS_LATE
      TOO_LONG = Constants::ROWS_TOO_LONG

      # @return [IO]
      attr_reader :io

      # @return [Boolean] whether its rows are the caller's
      def yields? = @taker.nil?

      # @param kind [Symbol, nil] yields [kind, row] instead of row
      # @param taker [Proc, nil] what becomes of each row; nil: they are yielded
      def initialize(
        io,
        plan,
        kind: nil,
        sep: plan.sep,
        encoding: plan.encoding,
        reuse: plan.reuse,
        &taker
      )
        @io = io
        @kind = kind
        @taker = taker
        @rows = Native::Rows.new
        @rows.open(
          io, (sep == :chunk) ? nil : sep.b, plan.limit, Plan::LONGER.fetch(plan.long), plan.chomp,
          encoding, reuse
        )
      end

      # @param deadline [Integer] ms on the monotonic clock, -1: none
      # @return [Integer] as above
      def take(deadline, &block)
        return @rows.take(deadline, &@taker) if @taker
        return @rows.take(deadline, &block) unless @kind
        @rows.take(deadline) { |row| block.call([@kind, row]) }
      end

      # @return [Integer] yielded
      def rows = @rows.rows

      # @return [Integer] read
      def bytes = @rows.bytes

      def close
        @rows.close
        @io.close
      end
    end
  end
end
