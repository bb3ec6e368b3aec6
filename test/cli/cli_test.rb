# frozen_string_literal: true

require "test_helper"
require "json"
require "godwit/cli"

# The command `godwit` as a whole: help, version, usage errors. Few tests start the executable.
class CLITest < Godwit::TestCase
  def test_help_lists_every_command_and_status
    help = run_line("--help")
    assert_equal [0, ""], help.values_at(0, 2)
    assert_equal Godwit::CLI::EXIT.keys, Godwit::CLI::EXIT_MEANINGS.keys
    %w[version help 124 130 127.0.0.1].each { |word| assert_includes help[1], word }
    assert_equal [help], [run_line("help"), run_line("-h")].uniq
    assert_fails(2, "usage: godwit")
  end

  def test_a_bug_keeps_its_backtrace
    broken = Class.new(Godwit::CLI::Command) do
      summary "Fails."
      usage "broken"
      def call(_arguments) = raise(ZeroDivisionError)
    end
    Godwit::CLI.stub(:command, broken) do
      assert_raises(ZeroDivisionError) { Godwit::CLI.run(["broken"]) }
    end
  end

  def test_a_wrong_command_line_has_status_2_and_names_the_fault
    assert_usage_errors(
      %w[verison] => "godwit: no command \"verison\"; did you mean \"version\"?\n",
      %w[log tal] => 'not "tal"; did you mean "tail"?', %w[sh pusch tcp://:1] => 'mean "push"?',
      %w[help nope] => "nope", %w[help log nope] => "nope", %w[log help nope] => "nope",
      %w[help log tail more] => "more", %w[log help tail more] => "more",
      %w[help version more] => "more", %w[version --nope] => "--nope",
      %w[version please] => "unexpected: please",
      %w[log tail tcp://:1 --conut 3] => "invalid option: --conut\nDid you mean?  count\n`godwit " \
        "log tail --help` lists its options.",
      %w[sh push tcp://:1 ls -la] => "-- goes before it: godwit sh push tcp://:1 -- ls -la",
      %w[log tail tcp://host:99999] => "godwit: tcp://host:99999: Malformed endpoint (a port is " \
        "a number from 1 to 65535)\n`godwit log tail --help` lists its options.\n"
    )
  end

  def test_an_endpoint_may_have_no_host_and_needs_a_transport
    {"tcp://:5555" => "tcp://127.0.0.1:5555", "tcp://:*" => "tcp://127.0.0.1:*",
     "ws://:8080/path" => "ws://127.0.0.1:8080/path",
     "tcp://eth0:0;:5555" => "tcp://eth0:0;127.0.0.1:5555"}.each do |typed, meant|
      assert_equal meant, Godwit::CLI::Endpoint.expand(typed)
    end
    %w[tcp://*:5555 tcp://[::1]:5555 tcp://host:5555 ipc://@name ipc:///tmp/:5 inproc://:1]
      .each { |typed| assert_equal typed, Godwit::CLI::Endpoint.expand(typed) }
    ["", "5555", ":5555", "host:5555", "://host:1", "tcp://"].each do |typed|
      error = assert_raises(Godwit::CLI::UsageError) { Godwit::CLI::Endpoint.expand(typed) }
      assert_includes error.message, "tcp://HOST:PORT"
    end
  end

  def test_options_and_their_values_are_not_abbreviated
    [%w[ttcp -t -z], %w[ttcp -t --zm], %w[version --js], %w[version -j],
      %w[perf lat --cou 1], %w[perf lat --COUNT 1], %w[log serve tcp://:1 --format j]]
      .each do |words|
      assert_fails(2, /invalid (?:option|argument): -|--format takes plain, json: got "j"/, *words)
    end
    assert_equal 0, run_line(*%w[perf lat --count=1 --json --help]).first
  end

  def test_version_shows_all_components
    components = [Godwit::VERSION, Godwit::BACKEND.to_s, Godwit.libzmq_version, RUBY_VERSION]
    version = run_line("version")
    components.each { |component| assert_includes version[1], component }
    assert_equal version, run_line("--version")
    facts = JSON.parse(run_line("version", "--json")[1])
    assert_equal [*components, Godwit.has?(:curve)],
      [*facts.values_at("godwit", "backend", "libzmq", "ruby"), facts["features"]["curve"]]
  end

  def in_shell(text) = start_command(["bash", "-c", text]).finish

  def test_a_closed_pipe_at_the_output_is_no_error
    # The command starts after the reader of its pipe has ended.
    result = in_shell("exec 3> >(:); wait $!; #{GODWIT.join(" ")} help >&3")
    assert_equal [141, ""], [result.status.exitstatus, result.stderr]
  end

  def test_a_full_disk_is_reported_in_one_line
    skip "this system has no /dev/full" unless File.exist?("/dev/full")
    result = in_shell("#{GODWIT.join(" ")} help > /dev/full")
    assert_equal [1, 1], [result.status.exitstatus, result.stderr.lines.size]
  end
end
