# frozen_string_literal: true

require "test_helper"

# Random walks over the public API (walk.rb), each in a separate process, which no walk may crash.
class WalkTest < Godwit::TestCase
  Godwit::TestSupport::Length.of(1..15, long: 1..500).each do |seed|
    test "a random walk, seed #{seed}" do
      result = run_child("test/native/walk.rb", [seed])
      assert result.success? && result.stdout == "ended\n", "VERBOSE=1 shows its steps: #{result}"
    end
  end
end
