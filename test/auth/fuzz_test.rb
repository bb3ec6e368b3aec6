# frozen_string_literal: true

require "test_helper"
require_relative "fuzz"

# Gives the parsers of {Fuzz} random inputs, as `rake fuzz` does, but fewer.
class AuthFuzzTest < Godwit::TestCase
  COUNT = Godwit::TestSupport::Length.of(10_000, long: 100_000)

  Fuzz::TARGETS.each_key do |name|
    test "random and mutated inputs of #{name} give a result or a named error" do
      seed = Minitest.seed || 1
      outcome = Fuzz.run(name, rounds(COUNT, stressed: 100), seed)
      assert_operator outcome[:results], :>, 0
      assert_operator outcome[:errors], :>, 0
    end
  end
end
