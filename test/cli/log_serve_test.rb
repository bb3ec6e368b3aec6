# frozen_string_literal: true

require "test_helper"
require "godwit/cli"
require "socket"
require "support/forked_command"
require_relative "../logger/made_records"

# `godwit log serve` and its clients `log stats` and `log tail --last`.
class CLILogServeTest < Godwit::TestCase
  include Godwit::TestSupport::ForkedCommands
  include MadeRecords

  COMMAND = [*GODWIT, "log"].freeze

  def log(*arguments, **options) = start("log", *arguments, **options)

  # Starts a server, sets @in, @out and @control to its endpoints, and sends its standard error to
  # its standard output.
  def serve(*options, to: %w[--in tcp://:* --out tcp://:*], **more)
    child = log("serve", *to, *options, merge: true, **more)
    child.wait_for(/^godwit: (in|durable in) .*\n/)
    line = child.stdout[/^godwit: (?:in|durable in) .*$/]
    @in, @out, @control = %w[in out control].map { |name| line[/(?:: |, )#{name} ([^ ,]+)/, 1] }
    child
  end

  def file = "#{scratch_dir}/app.log"

  def push = open_socket(:PUSH, linger: 5).connect(@in)

  # Waits until the file has `count` lines.
  def lines(count)
    eventually do
      File.exist?(file) && File.readlines(file).then { |lines| lines if lines.size >= count }
    end
  end

  def statistics = (@client ||= own(Godwit::Logger::Control.new(@control))).statistics

  def stop(child, signal = :TERM) = child.signal(signal).finish

  def run_here(*arguments) = run_line("log", *arguments)

  # @return [String] the output of the command, which must succeed
  def output(*arguments)
    status, out, err = run_here(*arguments)
    assert_equal 0, status, err
    out
  end

  # Shows the last `last` records that the server retains and then new ones, `count` in all.
  # @return [Array<String>] the records' texts
  def tail_last(last, count, *options)
    output("tail", @out, "--last", last, "--control", @control, "--count", count, "--timeout", 60,
      "--format", "%{text}", *options).lines(chomp: true)
  end

  test "records of several --in go to the file, to tail, and into the accounts" do
    child = serve("--in", "ipc://#{scratch_dir}/two", "--file", file, "--verbose")
    push.send_many([
      frames(1, level: 3, text: "before"), frames(2), frames(4, level: 3, text: "after"),
      line("plain"), *foreign
    ])
    lines(4)
    output("send", "ipc://#{scratch_dir}/two", "to two")
    assert_equal ["before", "text 2", "after", "plain", "to two"],
      lines(5).map { |one| one.chomp[/: (.*)/m, 1].split(": ").last }
    assert_equal %w[before after], tail_last(10, 2, "--level", "error+")
    statistics = JSON.parse(output("stats", @control, "--json"))
    assert_equal [4, 1, 1, foreign.size, 2],
      statistics.values_at("records", "lost", "plain", "foreign", "writers")
    result = stop(child)
    assert_equal [0, foreign.size],
      [result.status.exitstatus, result.stdout.scan(/^godwit: no record: /).size], result
    assert_equal "received 5 · lost 1 · 2 writers · #{foreign.size} foreign",
      result.stdout.force_encoding("UTF-8").lines.last.chomp
  end

  test "stats: a row for each writer, and the sums" do
    serve
    push.send_many([frames(1, level: 2), frames(5, level: 4),
      frames(1, writer: writer(7), prog: "a\e[2Jb", host: "")])
    rows = eventually do
      all = output("stats", @control).lines(chomp: true)
      all if all.last.end_with?("sent 3")
    end
    assert_equal %w[PROGRAM HOST WRITER RECEIVED LOST LATE WARN ERROR FATAL LAG IDLE],
      rows.first.split
    assert_equal %w[billing web1 01234567 2 3 0 1 0 1], rows.grep(/billing/).first.split.first(9)
    assert_equal ['a\e[2Jb', "-", "00000000", "1"], rows.grep(/2J/).first.split.first(4)
    assert_match(
      /\Aup .* · 2 writers · records 3 · lost 3 · late 0 · plain 0 · foreign 0 · sent 3\z/,
      rows.last
    )
    again = log("stats", @control, "--interval", 0.01)
    again.wait_for(/(^up .*){3}/m).signal(:INT)
    assert_equal 130, again.finish.status.exitstatus
  end

  test "without an answer: status 124, and a hint what to check" do
    nobody = "ipc://#{scratch_dir}/nobody"
    [["stats", nobody], ["tail", nobody, "--last", 1, "--control", nobody]].each do |words|
      assert_fails(124, /\A.*no answer from ipc:.* in 0.1 s.*\n\z/, "log", *words, "--timeout", 0.1)
    end
  end

  test "tail --last: the kept records that match, then new ones, each once" do
    serve("--last", 4)
    sender = push
    sender.send_many(Array.new(6) { |index| frames(index + 1, level: index.even? ? 1 : 3) })
    eventually { statistics["records"] == 6 }
    {[] => %w[3 4 5 6], ["--level", "error"] => %w[4 6],
     ["--grep", "text [35]"] => %w[3 5]}.each do |options, seqs|
      assert_equal seqs, tail_last(100, seqs.size, "--format", "%{seq}", *options)
    end
    tail = log("tail", @out, "--last", 2, "--control", @control, "--format", "%{seq}", "--count", 4)
    tail.wait_for("5\n6\n")
    sender.send_many([frames(7), frames(8)])
    assert_equal "5\n6\n7\n8\n", assert_child(tail.finish).stdout
  end

  test "a record that arrives twice, among the last ones and as a new one, is shown once" do
    pub, router = %i[PUB ROUTER].map { |type| open_socket(type).bind("tcp://127.0.0.1:*") }
    @out, @control = [pub, router].map(&:last_endpoint)
    last = [[line("plain")], *[1, 2, 3].map { |seq| frames(seq) }]
    in_thread do
      *envelope, _question = router.recv
      pub.wait_connected
      [*last.drop(2), frames(4), frames(1, writer: writer(7)), *last.first].each do |message|
        pub.send(message)
      end
      router.send([*envelope, JSON.generate(frames: last.map(&:size)), *last.flatten])
    end
    assert_equal ["plain", "plain", "text 1", "text 1", "text 2", "text 3", "text 4"],
      tail_last(4, 7).sort
  end

  test "durable writers: in the file once, and on to tail; kept without a receiver" do
    child = serve("--file", file, "--durable-in", "tcp://#{own_host}:*")
    durable = child.stdout[/durable in (\S+?),/, 1]
    send_durable = ["send", durable, "--durable", "#{scratch_dir}/kept"]
    output(*send_durable, "one")
    assert_equal %w[one], tail_last(1, 1)
    assert_equal 130, stop(child, :INT).status.exitstatus
    assert_fails(1, %r{\A.*#{scratch_dir}/kept.*\n\z},
      "log", *send_durable, "--timeout", 0.2, "two")
    serve("--durable-in", durable, "--file", file, to: [])
    assert_child log(*send_durable).write("three\n").end_input.finish
    assert_equal %w[one two three], lines(3).map { |line| line.chomp.split(": ").last }
  end

  test "SIGHUP reopens the file; if it cannot, it says so and writes to the old one" do
    folder = "#{scratch_dir}/logs"
    path = "#{folder}/app.log"
    Dir.mkdir(folder)
    child = serve("--file", path)
    sender = push
    [[1, -> { File.rename(path, "#{path}.old") }], [2, -> { File.rename(folder, "#{folder}.old") }]]
      .each do |seq, move|
      sender.send(frames(seq))
      eventually { File.size?(path) }
      move.call
      child.signal(:HUP)
      eventually { File.exist?(path) } if seq == 1
    end
    child.wait_for(/it keeps writing to the old file$/)
    sender.send(frames(3))
    eventually { File.readlines("#{folder}.old/app.log").size == 2 }
    assert_equal [["text 1"], ["text 2", "text 3"]], %w[app.log.old app.log].map { |name|
      File.read("#{folder}.old/#{name}").scan(/text \d/)
    }
    assert_equal 0, stop(child).status.exitstatus
  end

  test "--format json: an object on a line, with every field; rotation by size, and how many " \
    "files stay" do
    serve("--file", file, "--format", "json", "--rotate", "2k", "--keep", 2)
    push.send_many(
      [frames(1, text: "two\nlines", tags: ["req-9"], payload: {user: 42}), line("plain")]
    )
    one, other = lines(2).map { |text| JSON.parse(text) }
    assert_equal ["two\nlines", "billing", "web1", 1, ["req-9"], {"user" => 42}],
      one.values_at("text", "prog", "host", "seq", "tags", "payload")
    assert_equal Godwit::Logger::Record.parse(frames(1)).to_h.keys - one.keys, []
    assert_equal [true, "plain"], other.values_at("plain", "text")
    push.send_many(Array.new(100) { |index| frames(index + 1) })
    # Waits until the rotations are over: during each, the path is missing for a moment.
    eventually { statistics["sink"]["written"] == 102 }
    assert_includes File.read(file), "text 100"
    assert_equal ["app.log", "app.log.0", "app.log.1"], Dir.children(scratch_dir).grep(/app/).sort
    assert_includes 1024..2048, File.size("#{file}.0")
  end

  test "with an unread standard output it ends by itself, and written and unwritten records are " \
    "all that it received" do
    fifo = "#{scratch_dir}/fifo"
    File.mkfifo(fifo)
    reader = own(File.open(fifo, File::RDONLY | File::NONBLOCK))
    child = start_command(["sh", "-c", "exec \"$@\" 2>&1 >#{fifo}", "-", *COMMAND, "serve", "--in",
      "tcp://127.0.0.1:*", "--file", "-", "--control", "tcp://127.0.0.1:*"])
    said = child.wait_for(/^godwit: in .*\n/).stdout
    @in, @control = said.scan(%r{(?:in|control) (tcp://\S+?)(?:,|$)}).flatten
    push.send_many([line("x" * (4_096 - line("").bytesize))] * 700)
    eventually { statistics["plain"] > 16 } # a line fills one of the pipe's 16 pages
    last = child.signal(:TERM).finish.stdout.lines.last.delete(",")
    received, failed = last.match(/received (\d+) .* (\d+) not written/).captures.map(&:to_i)
    assert_equal received, failed + reader.read.count("\n")
    assert_operator failed, :>, 0
  end

  test "records that cannot be written are reported and counted" do
    skip "this system has no /dev/full" unless File.exist?("/dev/full")
    child = serve("--file", "/dev/full")
    push.send_many([frames(1), frames(2)])
    child.wait_for(/No space left on device/)
    assert_match(/file: written 0, failed [12] · the last error: .*No space left/,
      output("stats", @control).lines.last)
    result = stop(child)
    assert_equal [1, "received 2 · lost 0 · 1 writer · 2 not written\n"],
      [result.status.exitstatus, result.stdout.force_encoding("UTF-8").lines.last]
  end

  test "--file -: lines to standard output, at once; a terminal is not controlled" do
    input = "ipc://#{scratch_dir}/in"
    child = log("serve", "--in", input, "--file", "-")
    sender = open_socket(:PUSH, linger: 5).connect(input)
    sender.send_many([frames(1), frames(2, text: "\e[2J")])
    child.wait_for(/: text 1\n.*: \e\[2J\n/m)
    result = stop(child.signal(:HUP))
    assert_equal [0, 2, 2],
      [result.status.exitstatus, result.stdout.lines.size, result.stderr.lines.size], result
    view = Class.new(StringIO) { def tty? = true }.new
    Godwit::CLI.command("log").const_get(:Output).new(view)
      .write([Godwit::Logger::Record.parse(frames(1, text: "\e[2J\tx"))])
    assert_match(/: \\e\[2J\tx\n\z/, view.string)
  end

  test "an address in use, at each side, and a file in use; no socket stays open" do
    taken = open_socket(:PULL).bind("tcp://127.0.0.1:*").last_endpoint
    free = "ipc://#{scratch_dir}/free"
    [["--in", taken, "--file", file], ["--in", free, "--out", taken],
      ["--in", free, "--out", "ipc://#{scratch_dir}/o", "--control", taken]].each do |options|
      assert_equal [1, "", "godwit: #{taken} is in use\n"], run_here("serve", *options)
    end
    assert_equal [1, "", "godwit: #{taken} is in use\n"], run_here("tail", taken, "--bind")
    serve("--file", file)
    {file => "another process writes to it",
     "#{scratch_dir}/nosuch/app.log" => "No such file"}.each do |path, says|
      assert_fails(1, /\A.*#{says}.*\n\z/, "log", "serve", "--in", free, "--file", path)
    end
  end

  test "systemd is notified of the start and of the end" do
    path = "#{scratch_dir}/notify"
    systemd = own(Socket.new(:UNIX, :DGRAM).tap { |socket| socket.bind(Socket.sockaddr_un(path)) })
    child = log("serve", "--in", "ipc://#{scratch_dir}/in", "--file", file,
      env: {"NOTIFY_SOCKET" => path})
    assert systemd.wait_readable(HANG)
    assert_equal "READY=1", systemd.recv(100)
    assert_path_exists "#{scratch_dir}/in"
    assert_equal 0, child.signal(:TERM).status
    assert_equal "STOPPING=1", systemd.recv(100)
    serve("--file", file, env: {"NOTIFY_SOCKET" => "#{path}/nosuch"}).wait_for(
      "systemd was not notified"
    )
  end

  test "where control listens" do
    {%w[--out tcp://:7001] => "tcp://127.0.0.1:7002", %w[--out tcp://*:7001] => "tcp://*:7002",
     %w[--out tcp://[::1]:7001] => "tcp://[::1]:7002", %w[--out tcp://:*] => "tcp://127.0.0.1:*",
     %w[--out tcp://*:0] => "tcp://*:*", %w[--out ipc://x] => nil,
     %w[--out tcp://:7001 --no-control] => nil,
     %w[--out tcp://:7001 --control tcp://:9] => "tcp://127.0.0.1:9",
     %w[--out tcp://:65535] => nil}.each do |options, control|
      command = Godwit::CLI.command("log").const_get(:Serve).new
      command.__send__(:parse, options)
      assert_equal [options, control], [options, command.__send__(:control)]
    end
  end

  test "a wrong command line is reported" do
    assert_usage_errors("log", "stats", [] => "which endpoint",
      ["tcp://:1", "--interval", 0] => "--interval is 1 or more")
    assert_usage_errors("log", "serve",
      [] => "needs --in", %w[--in tcp://:1] => "needs --out",
      %w[--in foo --file f] => "is no endpoint",
      %w[--in tcp://:1 --out tcp://:2 --keep 3] => "need --file",
      %w[--in tcp://:1 --file f --keep 3] => "need --rotate",
      %w[--in tcp://:1 --file f --rotate hourly] => "hourly",
      %w[--in tcp://:1 --file f --rotate 0] => "\"0\"",
      %w[--in tcp://:1 --file f --rotate daily --keep 0] => "1 or more",
      %w[--durable-in tcp://:1 --out tcp://:2] => "--durable-in needs --file",
      %w[--in tcp://:1 --file f x] => "unexpected: x",
      %w[--in tcp://:1 --file f --server-key x] => "invalid option: --server-key",
      %w[--in tcp://:1 --out tcp://:2 --last -1] => "0 or more",
      %w[--in tcp://:1 --out tcp://:2 --last 1000001] => "0 to 1,000,000",
      %w[--in tcp://:99999 --out tcp://:2] => "a port is a number",
      %w[--in tcp://:1 --out tcp://:2 --format json] => "--format need --file",
      %w[--in tcp://:1 --out tcp://:2 --out-bytes 10x] => "--out-bytes takes a size",
      %w[--in tcp://:1 --file - --rotate daily] => "need a file",
      %w[--in tcp://:1 --file - --fsync] => "need a file",
      %w[--durable-in tcp://:1 --file -] => "need a file")
  end
end
