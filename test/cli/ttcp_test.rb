# frozen_string_literal: true

require "test_helper"
require "digest"
require "socket"
require "godwit/cli"
require "godwit/ttcp"
require_relative "../../bench/support/bench"

# `godwit ttcp` with itself, with a C ttcp (bench/c/ttcp.c), and with nc.
class CLITtcpTest < Godwit::TestCase
  COMMAND = [*GODWIT, "ttcp"].freeze
  HERE = "127.0.0.1"
  TAG = /ttcp-[rt]: /
  COUNTS = /\d+maxrss \d+\+\d+pf \d+\+\d+csw/
  BYTES = 20_000_000
  PATIENCE = 20 # seconds to wait for a message
  SUMMARY = /\A(?:#{TAG}buflen=.*\n)?
    #{TAG}(?<bytes>\d+)\ bytes\ in\ \d+\.\d\d\ real\ seconds\ =\ \d+\.\d\d\ KB\/sec\ \+\+\+\n
    #{TAG}\d+\ I\/O\ calls,\ msec\/call\ =\ \d+\.\d\d,\ calls\/sec\ =\ \d+\.\d\d\n
    #{TAG}\d+\.\duser\ \d+\.\dsys\ [\d:]+real\ \d+%\ 0i\+0d\ #{COUNTS}\n\z/x

  def setup
    super
    @port = TCPServer.open("::", 0) { |listener| listener.addr[1].to_s }
  end

  def c_ttcp = Bench::Programs.c("ttcp")

  def receiver(*words, program: COMMAND)
    start_command([*program, "-r", "-s", "-p", @port, *words]).wait_for(/^ttcp-r: buflen/)
  end

  def sender(*words, program: COMMAND, to: HERE)
    start_command([*program, "-t", "-s", "-p", @port, *words, to])
  end

  def bytes(text) = Integer(text[/(\d+) bytes in/, 1])

  def assert_summary(text)
    assert_match SUMMARY, text
    bytes(text)
  end

  # @return [Array(Result, Result)] results of the sender and of the receiver
  def transfer(received, *words, **options)
    [sender(*words, **options), received].map { |child| assert_child(child.finish) }
  end

  # Transfers `count` buffers, and compares the summaries of the sender and the receiver.
  def assert_transfer(from, to, count, length)
    results = transfer(to, "-n", count.to_s, *from)
    assert_equal [[count * length, ""]] * 2,
      results.map { |result| [assert_summary(result.stdout), result.stderr] }
  end

  test "TCP, IPv4 and IPv6, a name, and every option" do
    assert_transfer([], receiver, 2048, 8192)
    options = %w[-n 10 -D -b 65536 -A 4096 -O 1 -l 1000]
    results = transfer(receiver("-B", "-T", "-l", "1000", "-b", "65536"), *options, to: "::1")
    assert_equal "ttcp-t: buflen=1000, nbuf=10, align=4096/1, port=#{@port}, " \
      "sockbufsize=65536  tcp  -> ::1\n", results.first.stdout.lines.first
    assert_equal [10_000, 10_000], results.map { |result| bytes(result.stdout) }
    _, received = transfer(receiver, "-n", "1", to: "localhost")
    assert_equal 8192, bytes(received.stdout)
  end

  test "UDP: a mark begins, marks end, and neither is data" do
    assert_transfer(%w[-u -l 1000], receiver("-u", "-l", "1000"), 10, 1000)
    _, received = transfer(receiver("-u"), "-u", "-n", "5", to: "::1")
    assert_equal 5 * 8192, bytes(received.stdout)
  end

  # A DEALER that acts as a sender of `--zmq`. A test can stop it between any two messages.
  def dealer(name = "other")
    open_socket(:DEALER).connect("tcp://#{HERE}:#{@port}").send(["godwit ttcp", name])
  end

  # @return [String] the receiver's next reply other than "still receiving"
  def reply(socket)
    text = socket.recv
    (text == "still receiving") ? reply(socket) : text
  end

  test "ZeroMQ; a connection that does not name itself is no sender" do
    received = receiver("--zmq")
    TCPSocket.open(HERE, @port).close
    silent = open_socket(:DEALER).connect("tcp://#{HERE}:#{@port}").send("data")
    assert_equal "refused", reply(silent)
    assert_transfer(%w[--zmq -l 1000], received, 3000, 1000)
  end

  test "ZeroMQ: a second sender is refused by name, and the first goes on" do
    received = receiver("--zmq")
    first = dealer("web1")
    assert_equal "accepted", reply(first)
    result = sender("--zmq", "-n", "1").finish
    assert_equal [1, "ttcp-t: connect: the receiver already has a sender (#{HERE}:#{@port})\n"],
      [result.status.exitstatus, result.stderr]
    odd = dealer("a\e[31m\nb")
    assert_equal "refused", reply(odd)
    odd.send("thrown away").send("")
    first.send("data").send("")
    assert_equal "done", reply(first)
    result = assert_child(received.finish)
    assert_equal 4, assert_summary(result.stdout)
    first, second, *more = result.stderr.lines
    assert_match(/\Attcp-r: refused a second sender: \S+, process \d+\n\z/, first)
    assert_equal ["ttcp-r: refused a second sender: a\\e[31m\\nb\n"], [second, *more]
  end

  test "ZeroMQ: the receiver fails when the first sender does, not when a second one does" do
    refused = []
    receiver = own(Godwit::TTCP::Receiver.new(port: @port.to_i, zmq: true,
      on_refusal: refused.method(:<<)))
    began = monotonic
    receiving = in_thread { receiver.run }
    first = dealer("first")
    assert_equal "accepted", reply(first)
    second = dealer("second")
    assert_equal "refused", reply(second)
    second.close
    first.send("data").close
    third = dealer("third")
    result = ended(receiving)
    assert_kind_of Errno::ECONNRESET, result.error
    assert_equal [4, %w[second]], [result.bytes, refused.first(1)]
    # The receiver checks for its sender after 0.5 s of silence, which `seconds` does not include.
    assert_operator result.seconds, :<=, monotonic - began - 0.5
    third.close
  end

  test "ZeroMQ: a receiver that leaves before it has all data is a failure of the sender" do
    ["-n 1", "-n 1000000000"].each do |words|
      router = open_socket(:ROUTER).bind("tcp://#{HERE}:*")
      @port = router.port.to_s
      sent = sender("--zmq", *words.split)
      id, greeting, = router.recv(timeout: PATIENCE)
      assert_equal "godwit ttcp", greeting
      router.send([id, "accepted"])
      router.recv
      router.close
      result = sent.finish
      assert_equal 1, result.status.exitstatus
      assert_operator assert_summary(result.stdout), :>=, 8192
      assert_equal "ttcp-t: IO: Connection reset by peer (#{HERE}:#{@port})\n", result.stderr
    end
  end

  test "with a C ttcp at either end, over TCP and UDP" do
    [[], %w[-u]].product([[COMMAND, [c_ttcp]], [[c_ttcp], COMMAND]]) do |transport, (ours, theirs)|
      words = [*transport, "-l", "1000"]
      results = transfer(receiver(*words, program: ours), *words, "-n", "20", program: theirs)
      assert_equal [20_000, 20_000], results.map { |result| bytes(result.stdout) }
    end
  end

  test "without -s 20 MB arrive as they were, with nc at either end and with itself" do
    input = File.join(scratch_dir, "input")
    output = File.join(scratch_dir, "output")
    File.open("/dev/urandom", "rb") { |random| IO.copy_stream(random, input, BYTES) }
    sum = Digest::SHA256.file(input)
    ours = [COMMAND.join(" "), "-p", @port]
    receives, sends = [*ours, "-r"].join(" "), [*ours, "-t", HERE].join(" ")
    nc_receives, nc_sends = "nc -lvn #{@port}", "nc -N #{HERE} #{@port}"
    [[receives, nc_sends], [nc_receives, sends], [receives, sends]].each do |receive, send|
      waiting = start_command(["sh", "-c", "exec #{receive} 2>&1 >#{output}"])
      waiting.wait_for(/buflen|Listening/)
      sent = assert_child(start_command(["sh", "-c", "exec #{send} <#{input}"]).finish)
      lines = [assert_child(waiting.finish).stdout, sent.stderr]
      assert_equal sum, Digest::SHA256.file(output), "#{send} to #{receive}"
      lines.grep(TAG) { |text| assert_equal BYTES, assert_summary(text) }
      assert_empty sent.stdout
    end
  end

  test "-f: bits and bytes, in powers of 1,024; -v prints more" do
    used = Godwit::TTCP::Usage.new(user: 1.0, system: 1.0, max_rss: 7, major_faults: 1,
      minor_faults: 2, voluntary_switches: 3, involuntary_switches: 4)
    result = Godwit::TTCP::Result.new(bytes: 1 << 30, seconds: 4.0, calls: 1024, usage: used)
    {"k" => [2.0**21, "Kbit"], "m" => [2048, "Mbit"], "g" => [2, "Gbit"],
     "K" => [262_144, "KB"], "M" => [256, "MB"], "G" => [0.25, "GB"]}.each do |unit, (rate, name)|
      report = Godwit::CLI.command("ttcp").const_get(:Report).new("ttcp-t", unit, true)
      assert_equal [
        format("ttcp-t: 1073741824 bytes in 4.00 real seconds = %.2f %s/sec +++", rate, name),
        format("ttcp-t: 1073741824 bytes in 2.00 CPU seconds = %.2f %s/cpu sec", rate * 2, name),
        "ttcp-t: 1024 I/O calls, msec/call = 4.00, calls/sec = 256.00",
        "ttcp-t: 1.0user 1.0sys 0:04real 50% 0i+0d 7maxrss 1+2pf 3+4csw"
      ], report.summary(result)
    end
    received = receiver("-v")
    sent = assert_child(sender("-v", "-n", "5").finish).stdout
    assert_match(%r{bytes in \d+\.\d\d CPU seconds = \d+\.\d\d KB/cpu sec$}, sent)
    assert_match(/^ttcp-t: buffer address 0x\h+$/, sent)
    assert_child(received.finish)
  end

  def in_shell(words) = start_command(["sh", "-c", "exec #{COMMAND.join(" ")} #{words}"])

  test "Ctrl-C, or a peer that leaves early, ends a sender with the summary so far" do
    TCPServer.open(HERE, @port.to_i) do |peer|
      {130 => /\A\z/, 1 => /\Attcp-t: IO: (?:Broken pipe|Connection reset by peer) \(\S+:\d+\)\n\z/}
        .each do |status, says|
        sent = sender("-n", "1000000000")
        socket = peer.accept.tap { |one| one.read(100_000) }
        (status == 130) ? sent.signal(:INT) : socket.close
        result = sent.finish
        socket.close
        assert_equal status, result.status.exitstatus
        assert_operator assert_summary(result.stdout), :>=, 8192
        assert_match says, result.stderr
      end
    end
  end

  test "Ctrl-C at a receiver" do
    [[], %w[-u], %w[--zmq]].each do |transport|
      result = receiver(*transport).signal(:INT).finish
      assert_equal [130, 0, ""],
        [result.status.exitstatus, assert_summary(result.stdout), result.stderr]
    end
    received = in_shell("-r -p #{@port} 2>&1").wait_for(/buflen/)
    TCPSocket.open(HERE, @port) do |peer|
      peer.write("data")
      received.wait_for(/data/)
      result = received.signal(:INT).finish
      assert_equal [130, 4], [result.status.exitstatus, bytes(result.stdout)]
    end
  end

  test "UDP: silence ends a run, and does not count" do
    receiver = Godwit::TTCP::Receiver.new(port: @port.to_i, udp: true, silence: 0.3)
    socket = UDPSocket.new
    socket.connect(HERE, @port.to_i)
    %w[mark data! more!].each { |text| socket.send(text, 0) }
    found = nil
    elapsed = seconds { found = receiver.run }
    assert_equal [10, false], [found.bytes, found.complete?]
    assert_match(/no datagram in 0.3 s/, found.error.message)
    assert_operator found.seconds, :<=, elapsed - 0.3
    assert_predicate found, :frozen?
    assert_raises(Godwit::StateError) { receiver.run }
  ensure
    socket&.close
  end

  test "no receiver, an unknown host" do
    {HERE => /\Attcp-t: connect: Connection refused \(#{HERE}:#{@port}\)\n\z/,
     "nowhere.invalid" => /\Attcp-t: nowhere\.invalid: /}.each do |host, says|
      status, _, err = run_line("ttcp", "-t", "-s", "-p", @port, host)
      assert_equal 1, status
      assert_match says, err
    end
  end

  test "wrong command lines print the usage and the offending word" do
    assert_usage_errors("ttcp",
      [] => "ttcp: no direction", %w[-t -r x] => "ttcp: -t and -r", %w[-t] => "ttcp: -t: no host",
      %w[-t -l 0 x] => "-l 0", %w[-t -n -1 x] => "-n -1", %w[-t -p 70000 x] => "-p 70000",
      %w[-t -f x x] => "-f x", %w[-r -u] => "-u without -s",
      %w[-t -b 99999999999 x] => "-b 99999999999", %w[-t -l 99999999999 x] => "-l 99999999999",
      %w[-r -s --zmq -d] => "-d with --zmq", %w[-r host] => "ttcp: unexpected: host",
      %w[-q] => "-q", %w[-t -r] => "usage: godwit ttcp -t")
    link = File.join(scratch_dir, "ttcp")
    File.symlink(File.expand_path("exe/godwit"), link)
    wrong = start_command([*GODWIT[0...-1], link, "-l", "0"]).finish
    assert_equal 1, wrong.status.exitstatus # C ttcp exits with this status, too
    assert_includes wrong.stderr, "-l 0"
  end

  test "standard input or output that fails has status 1" do
    TCPServer.open(HERE, @port.to_i) do
      sent = in_shell("-t -p #{@port} #{HERE} < /").finish
      assert_equal 1, sent.status.exitstatus
      assert_match(/^ttcp-t: Is a directory - <STDIN>$/, sent.stderr)
    end
    received = in_shell("-r -p #{@port} 2>&1 >/dev/full").wait_for(/buflen/)
    TCPSocket.open(HERE, @port) { |peer| peer.write("data") }
    assert_equal 1, received.finish.status.exitstatus
    assert_match(/^ttcp-r: No space left on device - <STDOUT>$/, received.stdout)
  end
end
