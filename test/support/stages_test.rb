# frozen_string_literal: true

require "test_helper"
require "support/changes"
require "support/runner"

# Which stages bin/test runs for which changes.
class StagesTest < Godwit::TestCase
  TestSupport = Godwit::TestSupport

  # Makes a git repository, creates these files in it, and commits them.
  def repository(*paths)
    paths.each { |path| write(path, "1") }
    git("init", "--quiet")
    commit
  end

  def write(path, text)
    FileUtils.mkdir_p(File.dirname("#{scratch_dir}/#{path}"))
    File.write("#{scratch_dir}/#{path}", text)
  end

  def git(*arguments)
    assert system(
      "git", "-C", scratch_dir, "-c", "user.name=x", "-c", "user.email=x@example.org", *arguments
    )
  end

  def commit
    git("add", "--all")
    git("commit", "--quiet", "--message", "x")
  end

  def changes = TestSupport::Changes.new(scratch_dir, note: "#{scratch_dir}/.git/green")

  test "every test file belongs to a stage; names are distinct; work's stages have its mark" do
    stages = TestSupport::GATE + TestSupport::FULL
    assert_empty Dir.glob("{test,work/test}/**/*_test.rb", base: TestSupport::Stage::ROOT) -
      stages.flat_map(&:files)
    names = stages.map(&:name)
    assert_equal names.uniq, names
    ours = stages.select { |stage| stage.files.grep(%r{\A(?:test/timing/)?work/}).any? }
    assert_equal ours.map(&:name), stages.select(&:work?).map(&:name)
  end

  # test/RUNTIMES.md lists the skips by not_on, and no skip by a plain `skip`.
  test "no scenario that both backends run skips a runtime by other means" do
    skips =
      Dir["test/{conformance,waits,process,stress}/**/*.rb"].flat_map do |path|
        File.readlines(path).grep(/\bskip\b.*(?:RUBY_ENGINE|BACKEND|Ractor|fork|Fiber)/)
      end
    assert_empty skips
  end

  test "a stage whose requirement is missing is skipped, with the reason" do
    stage = TestSupport::Stage.new("x", "x", files: "test/support/stages_test.rb",
      missing: -> { "mruby was not found" })
    outcome = stage.run(1, out: StringIO.new)
    assert_equal [0, 0, 1], [outcome.passed, outcome.failed, outcome.skipped]
    assert_equal [{name: "stage x", text: "mruby was not found"}], outcome.skips
  end

  test "committed, changed or added files since the green commit count as changed" do
    repository("ext/a.c", "lib/b.rb", "docs/c.md")
    changes.note_green(changes.commit)
    assert_equal [], changes.paths
    write("ext/a.c", "2")
    commit
    write("lib/b.rb", "2")
    write("test/deep/d.rb", "1")
    assert_equal %w[ext/a.c lib/b.rb test/deep/d.rb], changes.paths.sort
    assert changes.any?(["ext/**"])
    assert changes.any?(["test/**"])
    refute changes.any?(["docs/**"])
  end

  test "a working tree that is not committed is not noted as green" do
    repository("ext/a.c")
    write("ext/a.c", "2")
    changes.note_green(changes.commit)
    assert_nil changes.paths
  end

  test "a run that leaves a file in the checkout fails, and names the file" do
    repository("lib/b.rb")
    write("lib/b.rb", "2")
    leaver = TestSupport::Stage.new("x", "x", files: "test/support/stages_test.rb",
      missing: -> { write("shop.db", "1") && "not run" })
    runner = TestSupport::Runner.new([], changes: changes, gate: [leaver])
    out, = capture_io { assert_equal 1, runner.run }
    assert_match(/^Failed: .*\n  \?\? shop\.db\n(?!.*b\.rb)/, out)
    assert_equal "0 passed, 1 failed, 1 skipped", out.lines.last.chomp
    assert_nil changes.paths
  end
end
