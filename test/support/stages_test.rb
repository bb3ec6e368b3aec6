# frozen_string_literal: true

require "test_helper"
require "support/changes"
require "support/runner"

# The stages that bin/test runs, and when.
class StagesTest < Godwit::TestCase
  TestSupport = Godwit::TestSupport

  # A git repository with a file of each folder, committed.
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

  test "every test file belongs to a stage" do
    stages = TestSupport::GATE + TestSupport::FULL
    assert_empty Dir.glob("{test,work/test}/**/*_test.rb", base: TestSupport::Stage::ROOT) -
      stages.flat_map(&:files)
  end

  test "the stages with work/'s files, and no others, have its mark, which --list shows" do
    stages = TestSupport::GATE + TestSupport::FULL
    ours = stages.select { |stage| stage.files.grep(%r{\A(?:test/timing/)?work/}).any? }
    assert_equal ours.map(&:name), stages.select(&:work?).map(&:name)
    list = start_command([RbConfig.ruby, "test/support/runner.rb", "--list"]).finish.stdout
    marked = list.lines.grep(/ \(--work\)/).map { |line| line[/\S+/] }
    assert_equal ours.map { |stage| stage.name.tr(" ", "-") }, marked
  end

  test "--work chooses the gate's stages of work/, and --quick its own" do
    {"--work" => :work?, "--quick" => :quick?}.each do |option, mark|
      chosen = TestSupport::Runner.new([option]).instance_variable_get(:@stages)
      assert_equal TestSupport::GATE.select(&mark), chosen
    end
  end

  test "stages have distinct names, and files or a task" do
    stages = TestSupport::GATE + TestSupport::FULL
    assert_equal stages.map(&:name).uniq, stages.map(&:name)
    assert_empty stages
      .select { |stage|
        stage.files.empty? && stage.instance_variable_get(:@rake).nil?
      }
      .map(&:name)
  end

  test "a stage whose requirement is missing is skipped, with the reason" do
    stage = TestSupport::Stage.new("x", "x", files: "test/support/stages_test.rb",
      missing: -> { "mruby was not found" })
    outcome = stage.run(1, out: StringIO.new)
    assert_equal [0, 0, 1], [outcome.passed, outcome.failed, outcome.skipped]
    assert_equal [{name: "stage x", text: "mruby was not found"}], outcome.skips
  end

  test "without mruby the mrbgem's stage names the package" do
    code = "require './rakelib/support/mruby_build'; puts MRubyBuild.missing"
    result = start_command([RbConfig.ruby, "-e", code], env: {"PATH" => scratch_dir}).finish
    assert_equal "mruby was not found. Debian: apt-get install mruby libmruby-dev\n", result.stdout
  end

  test "a folder of another JRuby's jars that has none is named" do
    code = "require './rakelib/support/jruby'; puts Godwit::JRuby.missing"
    env = {"GODWIT_JRUBY_JARS" => scratch_dir}
    assert_equal "no jar in #{scratch_dir} (GODWIT_JRUBY_JARS names a folder)\n",
      start_command([RbConfig.ruby, "-e", code], env: env).finish.stdout
  end

  test "a class with a name for its counts has a line in the summary" do
    report = "#{scratch_dir}/report.json"
    result = start_command(
      [*TESTS, "test/conformance/plain_test.rb", "-n", "/empty/"],
      env: {"GODWIT_TEST_REPORT" => report}
    ).finish
    assert_child(result)
    assert_match %r{\Atest/conformance/plain on ruby: \d+ runs, \d+ assertions\z},
      JSON.parse(File.read(report))["notes"].first
  end

  test "without a note nothing counts as changed" do
    repository("ext/a.c")
    refute changes.any?(["ext/**"])
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

  test "a note of a commit that is gone is none" do
    repository("ext/a.c")
    File.write("#{scratch_dir}/.git/green", "0" * 40)
    assert_nil changes.paths
  end
end
