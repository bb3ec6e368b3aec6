# frozen_string_literal: true

module Godwit
  module TestSupport
    # How long a test that can go on for any time shall: short in the gate, long in `bin/test
    # --full`.
    module Length
      LONG = ENV["GODWIT_TEST_LONG"] == "1"

      # @return [Boolean]
      def self.long? = LONG

      # @return [Object] the first in the gate, `long` in `--full`
      def self.of(short, long:) = LONG ? long : short
    end
  end
end
