# frozen_string_literal: true

require "test_helper"
require_relative "../../api/generate"

# test/RUNTIMES.md lists each scenario that does not hold somewhere, and for which of its forms.
class RuntimesPageTest < Godwit::TestCase
  def listed(source) = Generate.exceptions_of("test/a_test.rb", source.lines)

  test "a scenario's name, its reason, and the condition" do
    assert_equal [
      ["jruby", "test/a_test.rb", "a … that waits", "no fibers (only `if start == :fiber`)"],
      ["ffi", "test/a_test.rb", "old style", "why"],
      ["ffi", "test/a_test.rb", "all of it", "no Ractors"]
    ], listed(<<~'RUBY')
      test "a #{name} that waits" do
        not_on :jruby, "no fibers" if start == :fiber
      end
      def test_old_style
        not_on(:ffi, "why")
      end
      def setup
        not_on :ffi, "no Ractors"
      end
    RUBY
  end

  test "a scenario that cannot be listed is refused" do
    ["not_on :jruby, reason", "not_on :jruby,", "not_on \"jruby\", \"why\""].each do |line|
      error = assert_raises(RuntimeError, line) { listed("test \"a\" do\n  #{line}\nend\n") }
      assert_includes error.message, "test/a_test.rb:2: test/RUNTIMES.md cannot list this"
    end
    assert_raises(RuntimeError) { listed("not_on :jruby, \"of no test\"\n") }
  end

  # A `skip` would go unseen there.
  test "no scenario that both backends run skips a runtime by other means" do
    skips =
      Dir["test/{conformance,waits,process,stress}/**/*.rb"].flat_map do |path|
        File.readlines(path).grep(/\bskip\b.*(?:RUBY_ENGINE|BACKEND|Ractor|fork|Fiber)/)
      end
    assert_empty skips
  end
end
