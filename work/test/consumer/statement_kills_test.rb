# frozen_string_literal: true

require "work_helper"

# Processes that end before or after each statement that writes.
class WorkStatementKillsTest < Godwit::WorkCase
  deadline 3_100
  # Its processes check no types.
  KILLS = ENV["GODWIT_TEST_TYPES"] ? 12 : Godwit::TestSupport::Length.of(12, long: "all")

  # work/test/support/statement_kills.rb says what balances.
  test "a kill before or after any writing statement loses and repeats nothing that is finished" do
    result = assert_child(run_child("work/test/support/statement_kills.rb",
      [scratch_dir, KILLS, Minitest.seed], deadline: 3_000))
    counts = result.stdout.match(/\A(\d+) kills at (\d+) places\n\z/)
    assert counts, result.stdout
    assert_operator counts[1].to_i, :>, ((KILLS == "all") ? counts[2].to_i : KILLS) / 2
    assert_empty result.stderr
  end
end
