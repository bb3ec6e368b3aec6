# frozen_string_literal: true

require "test_helper"
require "rbconfig"
require "shellwords"

# A machine compiles only one branch of each `#ifdef` of the extension. Each test makes one
# condition false, and compiles the other branch.
class BranchesTest < Godwit::TestCase
  FOLDER = File.expand_path("../../ext/godwit", __dir__)
  CONDITION = /^#\s*if(?:def|\s+defined)\b.*$/
  SOURCES = Dir["#{FOLDER}/*.c"].to_h { |path| [path, File.read(path)] }
  CONDITIONS =
    SOURCES.flat_map { |path, text| text.scan(CONDITION).uniq.map { |line| [path, line] } }.freeze

  test "there are such branches" do
    assert_includes CONDITIONS.map(&:last), "#ifdef HAVE_RB_EXT_RACTOR_SAFE"
  end

  CONDITIONS.each do |path, line|
    test "#{File.basename(path)} compiles without #{line}" do
      source = "#{scratch_dir}/#{File.basename(path)}"
      File.write(source, SOURCES.fetch(path).gsub(line, "#if 0 /* \\0 */"))
      child = start_command([*compiler, "-fsyntax-only", source]).finish
      assert_child child
      assert_empty child.stderr
    end
  end

  private

  def compiler
    config = RbConfig::CONFIG
    libzmq = IO.popen(%w[pkg-config --cflags libzmq], &:read).shellsplit
    [
      *config.fetch("CC").shellsplit, "-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter",
      "-Wno-unused-function", "-I#{FOLDER}", "-isystem", config.fetch("rubyhdrdir"), "-isystem",
      config.fetch("rubyarchhdrdir"), *libzmq
    ]
  end
end
