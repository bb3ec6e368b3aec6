# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../../api/generate"

# docs/conformance.md names for each of libzmq's tests ours, or the reason why we have none; a test
# without either fails.
class ConformancePageTest < Godwit::TestCase
  OURS = {"test_fork" => ["test/process/fork_test.rb"]}.freeze

  test "a test that is kept, and tests with a reason why not" do
    tests = {
      "test_fork" => nil, "test_atomics" => "not applicable: for C",
      "test_socks" => "not covered: needs a proxy"
    }
    assert_empty Generate.conformance_faults(tests, OURS)
    page = Generate.conformance_md({"version" => "4.3.4", "tests" => tests}, OURS)
    assert_includes page, "| `test_fork` | [process/fork_test.rb](../test/process/fork_test.rb) |"
    assert_includes page, "| `test_socks` | not covered: needs a proxy |"
  end

  {
    "neither tag nor reason" => [{"test_fork" => nil, "test_new" => nil},
      /\Ano test has the tag "# libzmq: test_new"/],
    "a reason that gives none" => [{"test_fork" => nil, "test_new" => "later"}, /test_new/],
    "a tag and a reason" => [{"test_fork" => "not covered: too hard"}, /test_fork has a tag, and/],
    "a tag that libzmq does not know" => [{},
      %r{test/process/fork_test.rb: libzmq has no test_fork}]
  }.each do |what, (tests, says)|
    test "#{what} is a fault" do
      faults = Generate.conformance_faults(tests, OURS)
      assert_equal 1, faults.size
      assert_match says, faults.first
    end
  end

  test "tags are at the head of a file" do
    assert_includes Generate.tags["test_fork"], "test/process/fork_test.rb"
    refute Generate.tags.key?("test_new"), "the tag is below the code of this file"
  end
end

# Not at the head:
# libzmq: test_new
