# frozen_string_literal: true

require "test_helper"
require "json"
require "godwit/cli"

# The real executable, in a separate process.
class CLITest < Godwit::TestCase
  def godwit(*arguments, **options)
    start_command([*GODWIT, *arguments], **options).finish
  end

  def test_help_lists_every_command_and_status
    result = godwit("--help")
    assert_equal 0, result.status.exitstatus
    assert_empty result.stderr
    %w[version help 124 130 127.0.0.1].each { |word| assert_includes result.stdout, word }
    assert_equal result.stdout, godwit("help").stdout
    assert_equal result.stdout, godwit("-h").stdout
  end

  def test_no_command_is_wrong_usage
    result = godwit
    assert_equal 2, result.status.exitstatus
    assert_empty result.stdout
    assert_includes result.stderr, "usage: godwit"
  end

  def test_an_unknown_command_names_the_nearest
    result = godwit("verison")
    assert_equal 2, result.status.exitstatus
    assert_equal "godwit: no command \"verison\"; did you mean \"version\"?",
      result.stderr.lines.first.chomp
    assert_empty result.stdout
  end

  def test_an_unknown_part_and_option_name_the_nearest_and_the_whole_command
    {%w[lgo] => 'no command "lgo"; did you mean "log"?',
     %w[log tal] => 'not "tal"; did you mean "tail"?',
     %w[sh pusch tcp://:1] => 'did you mean "push"?',
     %w[log tail tcp://:1 --conut
       3] => "invalid option: --conut\nDid you mean?  count\n`godwit log tail --help` lists its " \
         "options."}.each do |arguments, says|
      status, _, err = run_line(*arguments)
      assert_equal 2, status
      assert_includes err, says
    end
  end

  def test_options_and_their_values_are_not_abbreviated
    [%w[ttcp -t -z], %w[ttcp -t --zm], %w[version --js], %w[version -j],
      %w[perf lat --cou 1], %w[perf lat --COUNT 1], %w[log serve tcp://:1 --format j]]
      .each do |arguments|
      _, err = capture_io { assert_equal 2, Godwit::CLI.run(arguments), arguments.join(" ") }
      assert_match(/invalid (?:option|argument): -|--format takes plain, json: got "j"/, err)
    end
    capture_io { assert_equal 0, Godwit::CLI.run(%w[perf lat --count=1 --json --help]) }
  end

  def test_an_option_of_the_command_that_sh_push_runs_says_where_the_dashes_belong
    result = godwit("sh", "push", "tcp://:1", "ls", "-la")
    assert_equal 2, result.status.exitstatus
    assert_includes result.stderr, "-- goes before it: godwit sh push tcp://:1 -- ls -la"
  end

  def test_arguments_that_the_library_refuses_are_wrong_usage_and_the_message_names_no_method
    result = godwit("log", "tail", "tcp://host:99999")
    assert_equal [
      2,
      "godwit: tcp://host:99999: Malformed endpoint (a port is a number from 1 to " \
      "65535)\n`godwit log tail --help` lists its options.\n"
    ],
      [result.status.exitstatus, result.stderr]
  end

  def test_an_unknown_option_and_a_superfluous_argument_are_wrong_usage
    assert_equal 2, godwit("version", "--nope").status.exitstatus
    result = godwit("version", "please")
    assert_equal 2, result.status.exitstatus
    assert_includes result.stderr, "unexpected: please"
  end

  def test_help_of_a_command
    result = godwit("version", "--help")
    assert_equal 0, result.status.exitstatus
    assert_includes result.stdout, "usage: godwit version [--json]"
    assert_equal result.stdout, godwit("help", "version").stdout
    assert_equal 2, godwit("help", "nope").status.exitstatus
  end

  def test_version_shows_all_components
    result = godwit("version")
    assert_equal 0, result.status.exitstatus
    assert_empty result.stderr
    [Godwit::VERSION, Godwit::BACKEND.to_s, Godwit.libzmq_version, RUBY_VERSION].each do |part|
      assert_includes result.stdout, part
    end
    assert_equal result.stdout, godwit("--version").stdout
  end

  def test_version_as_json
    facts = JSON.parse(godwit("version", "--json").stdout)
    assert_equal [Godwit::VERSION, Godwit::BACKEND.to_s, Godwit.libzmq_version],
      facts.values_at("godwit", "backend", "libzmq")
    assert_equal Godwit.has?(:curve), facts["features"]["curve"]
    assert_equal RUBY_VERSION, facts["ruby"]
  end

  def test_a_closed_pipe_at_the_output_is_no_error
    # It starts when the reader has gone.
    result =
      start_command(
        ["bash", "-c", "exec 3> >(:); wait $!; #{GODWIT.join(" ")} help >&3"]
      ).finish
    assert_equal [141, ""], [result.status.exitstatus, result.stderr]
  end

  def test_a_full_disk_is_reported_in_one_line
    skip "this system has no /dev/full" unless File.exist?("/dev/full")
    result =
      start_command(["sh", "-c", "#{GODWIT.join(" ")} help > /dev/full"]).finish
    assert_equal 1, result.status.exitstatus
    assert_equal 1, result.stderr.lines.size
  end

  def test_works_from_another_folder
    result =
      start_command(
        [
          "sh", "-c",
          "cd / && #{RbConfig.ruby} -I#{__dir__}/../../lib #{__dir__}/../../exe/godwit version"
        ]
      ).finish
    assert_equal 0, result.status.exitstatus, result.to_s
  end
end
