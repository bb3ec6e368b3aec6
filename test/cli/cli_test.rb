# frozen_string_literal: true

require "test_helper"
require "json"
require "godwit/cli"

# The command line as a whole: help, version, mistakes. The executable, where the process matters.
class CLITest < Godwit::TestCase
  def test_help_lists_every_command_and_status
    help = run_line("--help")
    assert_equal [0, ""], help.values_at(0, 2)
    %w[version help 124 130 127.0.0.1].each { |word| assert_includes help[1], word }
    assert_equal [help], [run_line("help"), run_line("-h")].uniq
    status, out, err = run_line
    assert_equal [2, ""], [status, out]
    assert_includes err, "usage: godwit"
  end

  def test_help_of_a_command
    help = run_line("version", "--help")
    assert_equal 0, help.first
    assert_includes help[1], "usage: godwit version [--json]"
    assert_equal help, run_line("help", "version")
  end

  def test_a_wrong_command_line_has_status_2_and_names_the_fault
    {%w[verison] => "godwit: no command \"verison\"; did you mean \"version\"?\n",
     %w[log tal] => 'not "tal"; did you mean "tail"?', %w[sh pusch tcp://:1] => 'mean "push"?',
     %w[help nope] => "nope", %w[version --nope] => "--nope",
     %w[version please] => "unexpected: please",
     %w[log tail tcp://:1 --conut 3] => "invalid option: --conut\nDid you mean?  count\n`godwit " \
       "log tail --help` lists its options.",
     %w[sh push tcp://:1 ls -la] => "-- goes before it: godwit sh push tcp://:1 -- ls -la",
     %w[log tail tcp://host:99999] => "godwit: tcp://host:99999: Malformed endpoint (a port is a " \
       "number from 1 to 65535)\n`godwit log tail --help` lists its options.\n"}
      .each do |words, says|
      status, out, err = run_line(*words)
      assert_equal [2, ""], [status, out], words.join(" ")
      assert_includes err, says
    end
  end

  def test_options_and_their_values_are_not_abbreviated
    [%w[ttcp -t -z], %w[ttcp -t --zm], %w[version --js], %w[version -j],
      %w[perf lat --cou 1], %w[perf lat --COUNT 1], %w[log serve tcp://:1 --format j]]
      .each do |words|
      status, _, err = run_line(*words)
      assert_equal 2, status, words.join(" ")
      assert_match(/invalid (?:option|argument): -|--format takes plain, json: got "j"/, err)
    end
    assert_equal 0, run_line(*%w[perf lat --count=1 --json --help]).first
  end

  def test_version_shows_all_components
    version = run_line("version")
    [Godwit::VERSION, Godwit::BACKEND.to_s, Godwit.libzmq_version, RUBY_VERSION].each do |part|
      assert_includes version[1], part
    end
    assert_equal version, run_line("--version")
    facts = JSON.parse(run_line("version", "--json")[1])
    assert_equal [Godwit::VERSION, Godwit::BACKEND.to_s, Godwit.libzmq_version, RUBY_VERSION],
      facts.values_at("godwit", "backend", "libzmq", "ruby")
    assert_equal Godwit.has?(:curve), facts["features"]["curve"]
  end

  def in_shell(text) = start_command(["bash", "-c", text]).finish

  def test_a_closed_pipe_at_the_output_is_no_error
    # It starts when the reader has gone.
    result = in_shell("exec 3> >(:); wait $!; #{GODWIT.join(" ")} help >&3")
    assert_equal [141, ""], [result.status.exitstatus, result.stderr]
  end

  def test_a_full_disk_is_reported_in_one_line
    skip "this system has no /dev/full" unless File.exist?("/dev/full")
    result = in_shell("#{GODWIT.join(" ")} help > /dev/full")
    assert_equal [1, 1], [result.status.exitstatus, result.stderr.lines.size]
  end

  def test_works_from_another_folder
    root = File.expand_path("../..", __dir__)
    assert_child in_shell("cd / && #{RbConfig.ruby} -I#{root}/lib #{root}/exe/godwit version")
  end
end
