# frozen_string_literal: true

require_relative "support/mruby_case"

# A few scenarios under valgrind: misuse and security.
class MRubyValgrindTest < MRubyCase
  PLAIN = "test/conformance/plain"
  FILES = %w[support/helpers misuse security].map { |name| "#{PLAIN}/#{name}.rb" }.freeze
  COMMAND = %w[
    valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite
    --errors-for-leak-kinds=definite
  ].freeze

  test "scenarios read and write only memory that is theirs, and leak none" do
    skip "valgrind is not installed" unless system("command -v valgrind >/dev/null")
    program = interpreter("test/mruby/plain.rb", "run", *FILES)
    result = assert_child start_command([*COMMAND, *program], deadline: 100).finish
    assert_operator result.stdout.scan("\tok ").size, :>, 15
    assert_empty result.stderr
  end
end
