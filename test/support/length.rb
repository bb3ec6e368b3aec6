# frozen_string_literal: true

module Godwit
  module TestSupport
    # The length of tests that can run for any time: short in the gate, long in `bin/test --full`.
    module Length
      LONG = ENV["GODWIT_TEST_LONG"] == "1"

      # @return [Boolean]
      def self.long? = LONG

      # @return [Object] `short` in the gate, `long` in `--full`
      def self.of(short, long:) = LONG ? long : short
    end
  end
end
