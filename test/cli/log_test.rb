# frozen_string_literal: true

require "test_helper"
require "godwit/cli"
require "support/forked_command"
require_relative "../logger/made_records"

# Runs `godwit log tail` and `log send`, in this process unless a test needs a signal or a pipe.
class CLILogTest < Godwit::TestCase
  include Godwit::TestSupport::ForkedCommands
  include MadeRecords

  def log(*arguments) = start("log", *arguments)

  def endpoint = @endpoint ||= "ipc://#{scratch_dir}/log"

  # Starts a `log tail` that binds.
  def tail(*options) = log("tail", endpoint, "--bind", "--timeout", 60, *options)

  def push(**options) = open_socket(:PUSH, linger: 5, **options).connect(endpoint)

  # Sends the messages to a `log tail` with these options.
  # @return [Array(String, String)] its output and errors
  def shown(*options, messages)
    # A new path each time: libzmq deletes the path of a closed socket later, even when another
    # socket uses the path by then.
    @endpoint = endpoint_for(:ipc)
    sender = push
    sender.send_many(messages)
    status, out, err = run_here("tail", endpoint, "--bind", "--timeout", 60, *options)
    assert_equal 0, status
    [out, err]
  ensure
    sender.close
  end

  def run_here(*arguments) = run_line("log", *arguments)

  # Sends a record. Without --quiet `log send` would report a peer that is absent for 2 s.
  def send_one(*arguments)
    assert_equal [0, "", ""], run_here("send", endpoint, "--quiet", *arguments)
  end

  test "tail shows send's text" do
    child = tail("--count", 1, "--format", "%<level>s %<host>s %<prog>s %{message}")
    send_one("--level", "WARN", "--prog", "a.b", "--host", "web1", "--tag", "req-9", "--tag", "x",
      "--payload", "user=42", "--payload", "name=ann a", "--payload", "ok=true", "--payload",
      "zip=007", "--payload", "none=null", "card", "refused")
    result = assert_child child.finish
    assert_equal "WARN web1 a.b [req-9] [x] card refused  user=42 name=\"ann a\" ok=true " \
      "zip=007 none=null\n", result.stdout
    assert_match(/\Areceived 1 /, result.stderr)
  end

  test "an argument that is no UTF-8 is shown as such, and is no crash" do
    broken = "gr\xFC"
    child = tail("--count", 1, "--format", "%{prog} %{tags} %{payload} %{text}",
      "--grep", "#{broken}|fine")
    send_one("--prog", broken, "--tag", broken, "--payload", "#{broken}=#{broken}", broken, "fine")
    assert_equal "gr\u{FFFD} [gr\u{FFFD}] gr\u{FFFD}=\"gr\u{FFFD}\" gr\u{FFFD} fine\n",
      assert_child(child.finish).stdout.force_encoding("UTF-8")
    [["tail", broken], ["tail", "tcp://:1", "gr\u{fc}n", broken],
      ["tail", "tcp://:1", "--#{broken}"], ["tail", "tcp://:1", "--format", "#{broken}%{nope}"],
      [broken], ["help", broken], ["stats", "tcp://:1", "--timeout", broken]].each do |arguments|
      assert_usage_errors("log", arguments => "godwit: ")
    end
  end

  test "send takes lines from standard input, in order" do
    child = tail("--count", 300, "--format", "%{text}|%{prog}")
    sender = log("send", endpoint, "--prog", "backup")
    lines = Array.new(297) { |index| "line #{index}" }
    sender.write(lines.join("\n") + "\n\ncr\r\nlast").end_input
    assert_child sender.finish
    assert_equal [*lines, "", "cr", "last"].map { |line| "#{line}|backup" },
      assert_child(child.finish).stdout.lines(chomp: true)
  end

  test "send says how many records could not be sent" do
    says = /\Agodwit: log to #{endpoint}: 1 record not sent; connection refused at .*\n\z/
    assert_fails(1, says, "log", "send", endpoint, "--timeout", 0.3, "one")
  end

  test "an IPv6 address needs no option; a Logger's does" do
    TCPServer.new("::1", 0).close
    reader = Godwit::Logger::Reader.new("tcp://[::1]:*", ipv6: true)
    assert_equal 0, run_here("send", reader.last_endpoint, "six").first
    assert_equal "six", reader.recv(timeout: 30).text
    error = assert_raises(Godwit::InterfaceError) { Godwit::Logger.new(reader.last_endpoint) }
    assert_match(/\Alogger tcp:.* needs the option ipv6: true/, error.message)
  rescue Errno::EADDRNOTAVAIL, Errno::EAFNOSUPPORT => error
    skip "this machine has no IPv6 on ::1 (#{error.message})"
  ensure
    reader&.close
  end

  test "tail chooses: level, program, host, tag, words" do
    messages = [frames(1, level: 3, text: "card refused", tags: ["req-9"], payload: {user: 42}),
      frames(2, level: 1, text: "card ok"), frames(3, level: 4, text: "refused too", prog: "shop"),
      frames(4, level: 3, text: "stop", host: "web2")]
    {["--level", "error+"] => [1, 3, 4], ["--level", "info", "--level", "fatal"] => [2, 3],
     ["--prog", "shop"] => [3], ["--prog", "bill"] => [],
     ["--prog", "billing", "--host", "web1"] => [1, 2], ["--tag", "req-9"] => [1],
     ["--grep", "ref.sed", "--exclude", "user=42"] => [3],
     ["--grep", "ok", "--grep", "stop"] => [2, 4]}.each do |options, seqs|
      # This record passes all filters in `options`, so `--count` ends the command after it.
      last = frames(
        5, level: options.include?("info") ? 1 : 3, text: "stop refused ok", tags: ["req-9"],
        prog: (options & %w[shop bill]).first || "billing"
      )
      text, = shown("--json", "--count", seqs.size + 1, *options, [*messages, last])
      assert_equal [*seqs, 5], text.lines.map { |line| JSON.parse(line)["seq"] }, options.inspect
    end
  end

  test "an error is on the line of its record; --backtrace shows the rest" do
    cause = {class: "KeyError", message: "no \e[1mkey", backtrace: ["b.rb:2"]}
    error = {class: "IOError", message: "closed", backtrace: ["a.rb:1", "a.rb:2"], causes: [cause]}
    sent = [frames(1, text: "saving failed", error: error)]
    line = "saving failed  closed (IOError) at a.rb:1"
    options = ["--count", 1, "--format", "%{message}"]
    assert_equal "#{line}\n", shown(*options, sent).first
    assert_equal "#{line}\n    a.rb:2\n    caused by: no \\e[1mkey (KeyError) at b.rb:2\n",
      shown(*options, "--backtrace", sent).first
  end

  test "foreign messages are counted, and shown with --verbose" do
    [[], ["--verbose"]].each do |options|
      _, err = shown("--count", 1, "--stats", *options, [*foreign, frames(1)])
      assert_includes err, "received 1 · lost 0 · 1 writer · #{foreign.size} foreign"
      assert_equal options.any? ? foreign.size : 0, err.scan(/^godwit: no record: /).size
      assert_includes err, 'no record: "a" "b"' if options.any?
    end
  end

  test "Ctrl-C ends it with 130 and the accounts; --timeout with 124" do
    child = log("tail", endpoint, "--bind", "--format", "%{text}")
    push.send_many([frames(1), frames(2), frames(5)])
    child.wait_for("text 5\n").signal(:INT)
    result = child.finish
    assert_equal 130, result.status.exitstatus
    assert_match(%r{\Areceived 3 · lost 2 · 1 writer · [\d,]+/s · lag p99 [\d.]+ (µs|ms|s)\n\z},
      result.stderr.force_encoding("UTF-8"))
    assert_equal [124, "", "received 0 · lost 0 · 0 writers\n"],
      run_here("tail", endpoint_for(:ipc), "--bind", "--timeout", 0.1)
  end

  test "--state: records sent between two runs are lost and reported" do
    [[[1, 2], 0], [[5, 6], 2]].each do |seqs, lost|
      _, err = shown(
        "--count", 2, "--state", "#{scratch_dir}/state", seqs.map { |seq| frames(seq) }
      )
      assert_equal lost, err[/received \d+ · lost (\d+) · 1 writer/, 1].to_i
    end
  end

  test "the reader of the output may close it" do
    [%W[tail #{endpoint} --bind], %W[serve --in #{endpoint}-2 --file -]].each do |words|
      command = [*GODWIT, "log", *words].join(" ")
      child = start_command(["bash", "-c", "#{command} | head -n 1; exit ${PIPESTATUS[0]}"])
      sender = open_socket(:PUSH, linger: 0).connect(words[1..].grep(/ipc:/).first)
      sender.send(frames(1))
      child.wait_for("text 1\n")
      seq = 1
      eventually { sender.send(frames(seq += 1), timeout: 0, exception: false) && child.ended? }
      result = child.finish
      assert_equal [141, 1], [result.status.exitstatus, result.stdout.lines.size], result
      assert_empty result.stderr if words.first == "tail"
    end
  end

  test "colours on a terminal, unless NO_COLOR or --color say otherwise" do
    {[{}, []] => true, [{"NO_COLOR" => "1"}, []] => false, [{"NO_COLOR" => ""}, []] => true,
     [{"TERM" => "dumb"}, []] => false,
     [{}, %w[--color never]] => false,
     [{"NO_COLOR" => "1"}, %w[--color always]] => true}.each do |(env, options), colored|
      shown = on_terminal({"TERM" => "xterm", "NO_COLOR" => nil, **env}, options)
      assert_equal colored, shown.include?("\e[1;7mtext\e[0m"), [env, options].inspect
    end
    options = ["--count", 1, "--grep", "text"]
    refute_includes shown(*options, [frames(1)]).first, "\e"
    assert_includes shown(*options, "--color", "always", [frames(1)]).first,
      "\e[1;7mtext\e[0m 1"
  end

  def on_terminal(env, options)
    @endpoint = endpoint_for(:ipc)
    command = start("log", "tail", endpoint, "--bind", "--count", 1, "--timeout", 20,
      "--grep", "text", *options, terminal: true, env: env)
    push.send(frames(1))
    command.finish.stdout
  end

  test "a wrong command line is reported" do
    assert_usage_errors("log",
      [] => "log serve", ["shout"] => "not \"shout\"", ["tail"] => "which endpoint",
      ["tail", "foo"] => "is no endpoint", ["tail", endpoint, "x"] => "unexpected: x",
      ["tail", endpoint, "--level", "loud"] => "invalid log level: loud",
      ["tail", endpoint, "--grep", "("] => "--grep: ",
      ["tail", endpoint, "--color", "maybe"] => "maybe",
      ["tail", endpoint, "--count", 0] => "1 or more",
      ["tail", endpoint, "--timeout", -1] => "0 or more",
      ["tail", endpoint, "--format", "%{nosuch}"] => "nosuch",
      ["tail", endpoint, "--last", 5, "--bind"] => "--bind",
      ["tail", endpoint, "--state", "x"] => "--state is for --bind",
      ["tail", "ipc:///nosuch", "--last", 5] => "--control", ["send"] => "which endpoint",
      ["send", endpoint, "--level", "loud", "x"] => "loud",
      ["send", endpoint, "--payload", "x"] => "KEY=VALUE",
      ["send", endpoint, "--payload", "=x"] => "KEY=VALUE")
  end
end
