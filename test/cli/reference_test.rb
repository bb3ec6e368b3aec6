# frozen_string_literal: true

require "test_helper"
require "godwit/cli"
require_relative "../../rakelib/support/manual_pages"

# Text made from the commands' own tables: help, manual pages, completions.
class CLIReferenceTest < Godwit::TestCase
  MANUALS = Godwit::ManualPages

  def entries = MANUALS::Reference.entries

  test "all commands have one form of help: usage, summary, options, notes" do
    entries.each do |entry|
      lines = entry.command.help_text.lines(chomp: true)
      assert_equal "usage: godwit #{entry.command.class.usage.lines.first.chomp}", lines.first
      [entry.command.class.summary, *entry.command.class.notes].each do |text|
        assert_includes entry.command.help_text, "\n#{text.chomp}\n"
      end
      assert_equal [], lines.select { |line| line.size > 100 }
      help = lines.index("    -h, --help                       this text")
      assert help, entry.path
      assert_empty lines.drop(help).grep(/\A +--/)
      lines = [["help", *entry.words], [*entry.words, "--help"]]
      lines << [entry.words[0], "help", entry.words[1]] if entry.words.size > 1
      assert_equal [[0, entry.command.help_text, ""]],
        lines.map { |words| run_line(*words) }.uniq, entry.path
    end
  end

  test "the manual pages are those of the commands, and groff finds no fault in them" do
    files = Dir.children(MANUALS::FOLDER).to_h do |file|
      [file, File.read(File.join(MANUALS::FOLDER, file))]
    end
    assert_equal MANUALS.pages, files, "run rake docs:manuals"
    skip "groff is not installed" unless system("which", "groff", out: File::NULL)
    paths = files.keys.map { |file| File.join(MANUALS::FOLDER, file) }
    result = start_command(["groff", "-man", "-ww", "-Tutf8", *paths]).finish
    assert_equal [true, ""], [result.success?, result.stderr]
    ["--wait-peers N", "godwit log tail"].each do |text|
      assert_includes result.stdout.gsub(/\e\[\d*m|.\x08/, ""), text
    end
  end

  test "help --man calls man with the page of the command" do
    File.write("#{scratch_dir}/man", "#!/bin/sh\necho \"$1\" > #{scratch_dir}/page\n", perm: 0o755)
    {[] => "godwit.1", %w[log tail] => "godwit-log.1"}.each do |words, page|
      status, = with_path(scratch_dir) { run_line("help", "--man", *words) }
      assert_equal [0, "#{MANUALS::FOLDER}/#{page}\n"], [status, File.read("#{scratch_dir}/page")]
    end
    with_path("/nowhere") { assert_fails(1, "#{MANUALS::FOLDER}/godwit.1", "help", "--man") }
  end

  def with_path(path)
    before = ENV["PATH"]
    ENV["PATH"] = path
    yield
  ensure
    ENV["PATH"] = before
  end

  test "bash completes commands, parts, options and their values" do
    script = <<~BASH
      source "$1"; shift
      while [ $# -gt 0 ]; do
        IFS='|' read -ra COMP_WORDS <<< "$1"; shift
        [ "${COMP_WORDS[-1]}" = _ ] && COMP_WORDS[-1]=
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _godwit 2>/dev/null; echo "${COMPREPLY[*]}"
      done
    BASH
    expected = {
      "godwit|pu" => "pub push pull", "godwit|log|_" => "serve tail stats send -h --help",
      "godwit|log|tail|--co" => "--color --control --count", "godwit|sub|-s|_" => "",
      "godwit|log|serve|--format|_" => "plain json", "godwit|check|tcp://:1|--type|d" => "dealer",
      "godwit|completion|z" => "zsh", "godwit|help|ke" => "keygen", "godwit|rep|--ec" => "--echo",
      "godwit|sub|--ec" => "", "godwit|_" => Godwit::CLI::COMMANDS.keys.join(" ")
    }
    status, text, = run_line("completion", "bash")
    assert_equal 0, status
    File.write("#{scratch_dir}/godwit", text)
    result = assert_child start_command(["bash", "-c", script, "-", "#{scratch_dir}/godwit",
      *expected.keys]).finish
    assert_equal expected.values, result.stdout.lines(chomp: true)
  end

  test "zsh and fish accept their scripts" do
    %w[zsh fish].each do |shell|
      status, text, = run_line("completion", shell)
      assert_equal 0, status
      assert_includes text, "--wait-peers".delete_prefix((shell == "fish") ? "--" : "")
      next unless system("which", shell, out: File::NULL)
      File.write("#{scratch_dir}/script", text)
      assert_child start_command([shell, "-n", "#{scratch_dir}/script"]).finish
    end
    assert_equal [2, 2], [run_line("completion").first, run_line("completion", "sh").first]
  end
end
