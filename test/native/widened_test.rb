# frozen_string_literal: true

require "test_helper"
require_relative "shim/shim"

# The stress tests, while the shim (shim/windows.c) delays calls of libzmq: a race that goes wrong
# once in a million messages goes wrong here within a few thousand.
class WidenedTest < Godwit::TestCase
  Dir["#{__dir__}/../stress/*_test.rb"].sort.each do |file|
    test "#{File.basename(file, "_test.rb")} with wide windows" do
      env =
        Godwit::TestSupport::Shim.windows(any: 50).merge(
          "GODWIT_STRESS_MESSAGES" =>
            rounds(Godwit::TestSupport::Length.of(2000, long: 8000), stressed: 500).to_s,
          "GODWIT_TEST_REPORT" => nil,
          "GODWIT_TEST_NOW" => nil,
          **PAGES
        )
      assert_child(start_command([*TESTS, file], env: env).finish)
    end
  end
end
