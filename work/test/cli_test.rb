# frozen_string_literal: true

require "work_helper"
require "json"
require "sqlite3"

# The real executable, in a separate process.
class WorkCLITest < Godwit::WorkCase
  def godwit_work(*arguments)
    start_command([*GODWIT_WORK, *arguments]).finish
  end

  test "help lists every command and status" do
    result = assert_child(godwit_work("--help"))
    assert_empty result.stderr
    ["usage: godwit-work COMMAND", *Godwit::Work::CLI::COMMANDS.keys, "124", "130"].each do |word|
      assert_includes result.stdout, word
    end
    refute_includes result.stdout, "beacon"
    assert_equal result.stdout, godwit_work("help").stdout
  end

  test "help of a command names the executable" do
    result = assert_child(godwit_work("version", "--help"))
    assert_includes result.stdout, "usage: godwit-work version [--json]"
    assert_equal result.stdout, godwit_work("help", "version").stdout
  end

  test "no command is wrong usage" do
    result = godwit_work
    assert_equal [2, ""], [result.status.exitstatus, result.stdout]
    assert_includes result.stderr, "usage: godwit-work"
  end

  test "an unknown command names the nearest, and where to look" do
    result = godwit_work("verison")
    assert_equal [2, ""], [result.status.exitstatus, result.stdout]
    assert_equal <<~TEXT, result.stderr
      godwit-work: no command "verison"; did you mean "version"?
      `godwit-work help` lists the commands, `godwit-work COMMAND --help` their options.
    TEXT
  end

  test "a command of godwit is none of godwit-work" do
    result = godwit_work("keygen")
    assert_equal 2, result.status.exitstatus
    assert_includes result.stderr, 'no command "keygen"'
  end

  test "an unknown option names the command's help" do
    result = godwit_work("version", "--nope")
    assert_equal 2, result.status.exitstatus
    assert_includes result.stderr, "`godwit-work version --help` lists its options."
  end

  test "options are not abbreviated" do
    result = godwit_work("version", "--js")
    assert_equal [2, ""], [result.status.exitstatus, result.stdout]
    assert_includes result.stderr, "invalid option: --js"
  end

  test "version shows all components" do
    result = assert_child(godwit_work("version"))
    assert_empty result.stderr
    [
      "godwit-work #{Godwit::Work::VERSION}", "SQLite #{SQLite3::SQLITE_VERSION}",
      "godwit #{Godwit::VERSION}", Godwit.libzmq_version, RUBY_VERSION
    ].each { |part| assert_includes result.stdout, part }
    assert_equal result.stdout, godwit_work("--version").stdout
  end

  test "version as JSON" do
    facts = JSON.parse(assert_child(godwit_work("version", "--json")).stdout)
    assert_equal [Godwit::VERSION, Godwit::VERSION, SQLite3::SQLITE_VERSION],
      facts.values_at("godwit", "godwit_work", "sqlite")
  end

  test "a Ruby child of a test finds both gems, without Bundler" do
    result = assert_child(run_child(<<~RUBY))
      require "godwit/work"
      require "sqlite3"
      puts Godwit::Work::VERSION, SQLite3::SQLITE_VERSION, defined?(Bundler).inspect
    RUBY
    assert_equal [Godwit::VERSION, SQLite3::SQLITE_VERSION, "nil"], result.stdout.split
    assert_empty result.stderr
  end

  test "every command describes itself" do
    Godwit::Work::CLI::COMMANDS.each_key do |name|
      command = Godwit::Work::CLI.command(name)
      assert_equal Godwit::Work::CLI, command.program
      assert command.usage.start_with?(name), "#{name}'s usage starts with its name"
      assert_match(/\A[A-Z].*\.\z/, command.summary)
    end
  end
end
