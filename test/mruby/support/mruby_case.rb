# frozen_string_literal: true

require "test_helper"
require_relative "../../../rakelib/support/mruby_build"

# A test of the mrbgem. Child processes run programs in mruby.
class MRubyCase < Godwit::TestCase
  ROOT = MRubyBuild::ROOT
  # The start of each program in mruby.
  PRELUDE = <<~RUBY
    def check(truth, message) = truth || raise(message)

    def same(expected, actual, what = "value")
      check(expected == actual, "\#{what}: expected \#{expected.inspect}, got \#{actual.inspect}")
    end

    def raised(klass)
      begin
        yield
      rescue klass => error
        return error
      end
      raise "expected \#{klass}, and nothing was raised"
    end
  RUBY

  MISSING = MRubyBuild.missing

  class << self
    # @return [String] folder of the built gem
    def built = @@built ||= MRubyBuild.new.build

    # @return [String] path of the compiled test/mruby/programs/host.c, a program with mruby in it
    def host = @@host ||= MRubyBuild.new.program("#{ROOT}/test/mruby/programs/host.c")
  end

  def setup
    skip MISSING if MISSING
  end

  def start_command(command, deadline: 30, **options) = super

  # @return [Array<String>] the command of the interpreter with these arguments
  def interpreter(*arguments) = ["#{self.class.built}/mruby-godwit", *arguments.map(&:to_s)]

  # @return [Child] a running program in mruby
  def start_mruby(*arguments, **options) = start_command(interpreter(*arguments), **options)

  def run_mruby(*arguments, **options) = start_mruby(*arguments, **options).finish

  # @return [Child] host.c, which runs this Ruby source
  def start_host(source, *arguments, **options)
    path = "#{scratch_dir}/program-#{@programs = @programs.to_i + 1}.rb"
    File.write(path, "#{PRELUDE}\n#{source}\nputs 'done'\n")
    start_command([self.class.host, path, *arguments.map(&:to_s)], **options)
  end

  # Runs Ruby source in host.c, and asserts that the last line is reached.
  # @return [Result]
  def assert_host(...) = assert_done(start_host(...))

  def assert_done(child)
    result = assert_child(child.finish)
    assert_equal "done", result.stdout.lines.last&.chomp, result.to_s
    result
  end
end
