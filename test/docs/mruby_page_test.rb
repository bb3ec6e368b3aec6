# frozen_string_literal: true

require "open3"
require_relative "../test_helper"
require_relative "page"
require_relative "../../rakelib/support/mruby_build"

# docs/mruby.md: the page's command compiles the page's C program, which runs a Ruby file.
class MRubyPageTest < Godwit::TestCase
  DEADLINE = 15
  TEXT = Page.new("docs/mruby.md").text
  PROGRAMS = TEXT.scan(/^```c\n(.*?)^```$/m).flatten.freeze
  COMPILE = TEXT[/^cc app\.c .*$/]

  test "the program in C runs a file, and reports an error" do
    skip "no mruby: #{MRubyBuild::PACKAGES}" unless MRubyBuild.possible?
    assert_equal 1, PROGRAMS.size
    File.write("#{scratch_dir}/app.c", PROGRAMS.first)
    output, status =
      Open3.capture2e({"BUILD" => MRubyBuild.new.build}, COMPILE, chdir: scratch_dir)
    assert_predicate status, :success?, output
    assert_equal "#{Godwit::VERSION}\n", assert_run(0, "puts Godwit::VERSION").stdout
    assert_includes assert_run(1, "Godwit::PUB.new.recv").stderr, "Godwit::UnsupportedError"
    assert_run(2, nil)
  end

  private

  # @param source [String, nil] content of the Ruby file; nil: there is no file
  def assert_run(status, source)
    file = "#{scratch_dir}/file.rb"
    source ? File.write(file, source) : File.delete(file)
    result = start_command(["#{scratch_dir}/app", file], deadline: DEADLINE).finish
    assert_equal status, result.status.exitstatus, result.to_s
    result
  end
end
