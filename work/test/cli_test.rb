# frozen_string_literal: true

require "work_helper"
require "json"
require "sqlite3"

# The command `godwit-work` as a whole. Its base is the CLI of the gem godwit: see also test/cli.
class WorkCLITest < Godwit::WorkCase
  test "help lists every command and status" do
    output = well("--help")
    ["usage: godwit-work COMMAND", *Godwit::Work::CLI::COMMANDS.keys, "124", "130"].each do |word|
      assert_includes output, word
    end
    refute_includes output, "beacon"
    assert_includes well("version", "--help"), "usage: godwit-work version [--json]"
  end

  test "wrong commands and options name the help of godwit-work" do
    {
      [] => "usage: godwit-work",
      ["verison"] => "godwit-work: no command \"verison\"; did you mean \"version\"?\n" \
        "`godwit-work help` lists the commands, `godwit-work COMMAND --help` their options.\n",
      ["keygen"] => "no command \"keygen\"",
      ["version", "--nope"] => "`godwit-work version --help` lists its options."
    }.each do |words, text|
      status, output, errors = told(*words)
      assert_equal [2, ""], [status, output], words.inspect
      assert_includes errors, text
    end
  end

  test "the executable shows the versions of all components, also as JSON" do
    result = assert_child(start_command([*GODWIT_WORK, "version"]).finish)
    assert_empty result.stderr
    [
      "godwit-work #{Godwit::Work::VERSION}", "SQLite #{SQLite3::SQLITE_VERSION}",
      "godwit #{Godwit::VERSION}", Godwit.libzmq_version, RUBY_VERSION
    ].each { |part| assert_includes result.stdout, part }
    facts = JSON.parse(well("version", "--json"))
    assert_equal [Godwit::VERSION, Godwit::VERSION, SQLite3::SQLITE_VERSION],
      facts.values_at("godwit", "godwit_work", "sqlite")
  end

  test "every command describes itself" do
    Godwit::Work::CLI::COMMANDS.each_key do |name|
      command = Godwit::Work::CLI.command(name)
      assert command.usage.start_with?(name), "#{name}'s usage starts with its name"
      assert_match(/\A[A-Z].*\.\z/, command.summary)
    end
  end
end
