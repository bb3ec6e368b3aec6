# frozen_string_literal: true

require_relative "../test_helper"
require_relative "page"
require_relative "../../rakelib/support/mruby_build"

# docs/mruby.md: its C program runs a Ruby file.
class MRubyPageTest < Godwit::TestCase
  DEADLINE = 15
  PROGRAMS = Page.new("docs/mruby.md").text.scan(/^```c\n(.*?)^```$/m).flatten.freeze

  test "the program in C runs a file, and reports an error" do
    skip "no mruby: #{MRubyBuild::PACKAGES}" unless MRubyBuild.possible?
    assert_equal 1, PROGRAMS.size
    source = File.join(scratch_dir, "docs_app.c")
    File.write(source, PROGRAMS.first)
    program = MRubyBuild.new.program(source)
    assert_equal "#{Godwit::VERSION}\n", run_file(program, "puts Godwit::VERSION", 0).stdout
    assert_includes run_file(program, "Godwit::PUB.new.recv", 1).stderr, "Godwit::UnsupportedError"
    assert_equal 2, run_program(program, "/no/such/file").status.exitstatus
  end

  private

  def run_file(program, source, status)
    file = File.join(scratch_dir, "file.rb")
    File.write(file, source)
    result = run_program(program, file)
    assert_equal status, result.status.exitstatus, result.to_s
    result
  end

  def run_program(program, file) = start_command([program, file], deadline: DEADLINE).finish
end
