# frozen_string_literal: true

require "test_helper"
require "digest"
require "shellwords"
require "godwit/cli"
require "support/forked_command"

# `godwit sh push` and `godwit sh pull`, in forked processes.
class CLIShTest < Godwit::TestCase
  include Godwit::TestSupport::ForkedCommands

  WENT_AWAY = "godwit: the other side went away before its end\n"

  def sh(*arguments) = start("sh", *arguments)

  def endpoint = @endpoint ||= "ipc://#{scratch_dir}/sh"

  def push(*options, command) = sh("push", endpoint, *options, "--", *command)

  def pull(*options) = sh("pull", endpoint, *options)

  # @return [Array(Result, Result)] results of `sh push` and of one `sh pull`
  def both(*options, command, pull_options: [])
    pushing = push(*options, command)
    pulled = pull(*pull_options).finish
    [pushing.finish, pulled]
  end

  # @return [Array(Child, String)] a `sh pull` that has bound, and its endpoint
  def bound_pull
    pulling = sh("pull", "tcp://:*", "--bind").wait_for(/tcp:\S+\n/, in_errors: true)
    [pulling, pulling.stderr[/tcp:\S+/]]
  end

  def statuses(*results) = results.map { |result| result.status.exitstatus }

  test "a pull prints the command's output, byte for byte" do
    random = Random.new(1)
    path = "#{scratch_dir}/bytes"
    bytes = random.bytes(300_000) + "x" * 200_000 + "\r\n\0no newline"
    File.binwrite(path, bytes)
    [[], ["--sep", "ab"]].each do |options|
      pushed, pulled = both(*options, ["cat", path])
      assert_equal [[0, 0], "", "", ""],
        [statuses(pushed, pulled), pushed.stdout, pushed.stderr, pulled.stderr]
      assert_equal Digest::SHA256.hexdigest(bytes), Digest::SHA256.hexdigest(pulled.stdout)
    end
  end

  test "both end as the command did" do
    {"exit 7" => 7, "kill -9 $$" => 137}.each do |script, status|
      assert_equal [status, status], statuses(*both("--shell", ["echo a; #{script}"]))
    end
  end

  test "several that pull share the rows" do
    pulls = Array.new(3) { pull }
    pushed = push("--pulls", 3, %w[seq 3000])
    results = pulls.map(&:finish)
    assert_equal (1..3_000).to_a,
      results.flat_map { |result| result.stdout.split.map(&:to_i) }.sort
    assert_equal [0] * 4, statuses(*results, pushed.finish)
    assert_operator results.map { |result| result.stdout.size }.min, :>, 0
  end

  test "head ends both sides quietly, and the command" do
    {"echo 1; echo 2; echo 3; exec sleep 1000" => "1\n", "yes" => "y\n141\n"}
      .each do |script, printed|
      pushing = push("--shell", ["echo $$ > #{scratch_dir}/pid; #{script}"])
      command = Shellwords.join([*GODWIT, "sh", "pull", endpoint])
      result = ((script == "yes") ?
        start_command(["bash", "-c", "#{command} | head -n 1; echo ${PIPESTATUS[0]}"]) :
        pull("--count", 1)).finish
      assert_equal [printed, ""], [result.stdout, result.stderr]
      pushed = pushing.finish
      assert_equal [141, ""], [pushed.status.exitstatus, pushed.stderr]
      assert_raises(Errno::ESRCH) { Process.kill(0, File.read("#{scratch_dir}/pid").to_i) }
    end
  end

  test "a signal ends push and the command; its pull says that rows are missing" do
    {INT: 130, TERM: "TERM"}.each do |name, status|
      pushing = push("--shell", ["echo $$; exec sleep 1000"])
      pulling = pull.wait_for(/\d+/)
      pid = Integer(pulling.stdout)
      assert_equal [status, ""], [pushing.signal(name).status, pushing.stderr]
      assert_equal [1, WENT_AWAY], [pulling.status, pulling.stderr]
      assert_raises(Errno::ESRCH) { Process.kill(0, pid) }
    end
  end

  test "--timeout and --count" do
    pulling, target = bound_pull # the pull has bound before the push's time-out begins
    assert_equal [124, 124],
      statuses(
        sh("push", target, "--connect", "--timeout", 1, "--", "sleep", 1000).finish, pulling.finish
      )
    assert_equal [124], statuses(pull("--timeout", 0.01).finish)
    pushed, pulled = both("--count", 3, ["yes"])
    assert_equal [[0, 0], "y\n" * 3], [statuses(pushed, pulled), pulled.stdout]
    pushed, pulled = both(["yes"], pull_options: ["--count", "300"])
    assert_equal [[141, 0], "y\n" * 300], [statuses(pushed, pulled), pulled.stdout]
  end

  test "rows without their separators, for other readers, and with separators again" do
    socket = open_socket(:PULL).connect(endpoint)
    pushing = push("-0", "--chomp", ["printf", 'a\nb\0c\0'])
    assert_equal ["a\nb", "c"], 2.times.map { socket.recv(timeout: 20) }
    kind, facts = socket.recv(timeout: 20)
    assert_equal "end", kind
    assert_match(/"exitstatus":0/, facts)
    socket.close
    assert_equal 0, pushing.status
    {"--lines" => "\n", "-0" => "\0", "--sep=;\\t" => ";\t"}.each do |option, ending|
      assert_equal "1#{ending}2#{ending}",
        both("--chomp", %w[seq 2], pull_options: [option]).last.stdout
    end
  end

  test "--err carries standard error over" do
    _, pulled = both("--err", "--shell", ["echo out; echo err >&2"])
    assert_equal ["out\n", "err\n"], [pulled.stdout, pulled.stderr]
  end

  test "standard input is the command's" do
    pushing = push(["sort"])
    pushing.write("b\na\n").end_input
    assert_equal ["a\nb\n", 0], [pull.finish.stdout, pushing.status]
  end

  test "--keep: workers stay when a push leaves, and serve the next" do
    pulling = pull("--bind", "--keep", "--count", 4)
    # One push after the other: the rows of parallel pushes would alternate.
    ["1\n2\n", "1\n2\n1\n2\n"].each do |printed|
      assert_equal 0, push("--connect", "--keep", %w[seq 2]).status
      pulling.wait_for(printed)
    end
    assert_equal [0, "1\n2\n1\n2\n"], [pulling.status, pulling.stdout]
  end

  test "a wrong command line is reported" do
    assert_usage_errors("sh",
      [] => "type `godwit sh push", ["shove"] => "not \"shove\"", ["push"] => "which endpoint",
      ["push", "tcp://:1"] => "which command", ["pull"] => "which endpoint",
      ["pull", "tcp://:1", "x"] => "unexpected: x",
      ["push", "here", "--", "ls"] => "\"here\" is no endpoint",
      ["pull", "inproc://x"] => "one process",
      ["push", "tcp://:1", "--sep", "", "--", "ls"] => "--sep needs",
      ["pull", "tcp://:1", "--count", "0"] => "1 or more",
      ["push", "tcp://:1", "--", ""] => "command",
      ["pull", "tcp://:1", "--timeout", "-1"] => "0 or more")
    result = push(["nosuchprogram"]).finish
    assert_equal 1, result.status.exitstatus
    assert_match(/\Agodwit: .*nosuchprogram.*\n\z/, result.stderr)
  end
end
