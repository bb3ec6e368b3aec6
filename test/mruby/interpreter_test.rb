# frozen_string_literal: true

require "test_helper"
require_relative "../../rakelib/support/mruby_build"

# The interpreter mruby-godwit: its arguments and exit statuses.
class MRubyInterpreterTest < Godwit::TestCase
  PROGRAM = "#{MRubyBuild.new.build}/mruby-godwit".freeze

  def interpret(*arguments) = start_command([PROGRAM, *arguments]).finish

  def program(code)
    File.join(scratch_dir, "program.rb").tap { |path| File.write(path, code) }
  end

  test "--version names all three versions" do
    result = interpret("--version")
    assert_predicate result, :success?
    expected = "godwit #{Godwit::VERSION} (mruby #{MRubyBuild.version}, libzmq "
    assert result.stdout.start_with?(expected), result.inspect
  end

  test "a FILE gets the arguments after it, and -e does" do
    result = interpret(program("p ARGV, $0.end_with?('program.rb')"), "one", "--two")
    assert_equal ["[\"one\", \"--two\"]\ntrue\n", ""], [result.stdout, result.stderr]
    assert_equal "[\"one\"]\n", interpret("-e", "p ARGV", "one").stdout
  end

  test "an uncaught error exits with 1, and names file and line" do
    path = program("\n\nGodwit::PULL.new.close.recv\n")
    result = interpret(path)
    assert_equal 1, result.status.exitstatus
    assert_includes result.stderr, "#{path}:3"
    result = interpret(program("\nputs(\n\n"))
    assert_equal 1, result.status.exitstatus
    assert_match(/program\.rb:\d+:\d+: syntax error/, result.stderr)
    assert_equal 1, interpret("-e", "raise 'no'").status.exitstatus
  end

  test "wrong usage exits with 2" do
    [[], ["-e"], ["--unknown"], ["/no/such/file.rb"]].each do |arguments|
      result = interpret(*arguments)
      assert_equal 2, result.status.exitstatus, arguments.inspect
      refute_empty result.stderr
      assert_empty result.stdout
    end
  end

  test "its messages are sent before it ends" do
    pull = open_socket(:PULL)
    pull.bind("tcp://127.0.0.1:*")
    result = interpret("-e", "Godwit::PUSH.connect(ARGV.first) << 'sent'", pull.last_endpoint)
    assert_predicate result, :success?, result.inspect
    assert_equal "sent", pull.recv(timeout: 5)
  end
end
