# frozen_string_literal: true

require "test_helper"
require_relative "../gem_index"
require_relative "../../../rakelib/support/release"

# The conditions of a release that `rake release:check` lists.
class ReleaseTest < Godwit::TestCase
  COMMIT = "c" * 40

  def release(commit: COMMIT, changelog: "# Changelog\n\n## [1.2.3] - today\n\n## [1.2.2]\n")
    Godwit::Release.new(scratch_dir, version: "1.2.3", commit: commit, changelog: changelog)
  end

  def build(file, commit)
    name, version, platform = file.match(/\A(godwit(?:-work)?)-([\d.]+)(?:-(.+))?\.gem/).captures
    Godwit::GemIndex.stub(scratch_dir, name, platform, version: version) do |spec|
      spec.metadata = {"commit" => commit}.compact
    end
  end

  def open_ones(release) = release.conditions.reject { |_, met| met }.keys

  test "with all gems, checks and sums no condition is open; without them all are" do
    assert_equal [12, 2], [open_ones(release).size, release.conditions.values.count(true)]
    paths = release.gems.map { |file| build(file, COMMIT) }
    paths.each { |path| Godwit::Release.passed(path) }
    build("godwit-1.2.2.gem", COMMIT)
    Godwit::Release.write_sums(scratch_dir, "1.2.3")
    assert_equal paths.map { |path| Godwit::Release.line(path) }.sort,
      File.readlines("#{scratch_dir}/SHA256SUMS").sort
    assert_empty open_ones(release)
    assert_equal ["the head of CHANGELOG.md is 1.2.3"],
      open_ones(release(changelog: "## Unreleased\n"))
    from_commit = release.gems.map { |gem| "#{gem} is built from this commit" }
    assert_equal ["the checkout is a commit without changes", *from_commit],
      open_ones(release(commit: nil))
    built = release.gems.first
    build(built, "d" * 40)
    assert_equal ["#{built} is built from this commit", "#{built} has passed rake package:check",
      "#{built} has its sum in SHA256SUMS"], open_ones(release)
    Godwit::Release.passed("#{scratch_dir}/#{built}")
    refute_includes open_ones(release), "#{built} has passed rake package:check"
    assert_equal 4, File.readlines("#{scratch_dir}/CHECKED").size
  end

  test "a machine without git, a checkout with a change, and a folder without git have no commit" do
    program = "require './rakelib/support/release'; p Godwit::Release.commit"
    child = start_command([RbConfig.ruby, "-e", program], env: {"PATH" => scratch_dir})
    assert_equal "nil\n", assert_child(child.finish).stdout
    assert_nil Godwit::Release.commit(scratch_dir)
    git = ->(*words) { system("git", "-C", scratch_dir, *words, out: File::NULL, exception: true) }
    git["init", "--quiet"]
    File.write("#{scratch_dir}/file", "x")
    git["add", "file"]
    git["-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "x"]
    assert_match(/\A\h{40}\z/, Godwit::Release.commit(scratch_dir))
    File.write("#{scratch_dir}/new", "x")
    assert_nil Godwit::Release.commit(scratch_dir)
  end
end
