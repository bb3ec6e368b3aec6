# frozen_string_literal: true

require "test_helper"
require "godwit/cli"
require "json"
require "socket"
require "support/forked_command"

# Runs `godwit req`, `rep`, `pub` …, in this process unless a test needs a signal or a pipe.
class CLISocketsTest < Godwit::TestCase
  include Godwit::TestSupport::ForkedCommands

  deadline 300
  TYPES = Godwit::CLI::SOCKETS

  # @return [String] the endpoint of the last {#peer}
  attr_reader :peer_endpoint

  test "a wrong value of each option is named" do
    wrong = {
      %w[--bind nope] => "--bind: ", %w[-b inproc://a] => "--bind: inproc", %w[-b] => "-b",
      %w[--connect tcp://h:99999] => "--connect: tcp://h:99999: Malformed",
      %w[-c tpc://:1] => "--connect: tpc", %w[--count 0] => "--count is 1 or more",
      %w[--count x] => "--count x", %w[--timeout -1] => "--timeout is 0 or more",
      %w[--timeout x] => "--timeout x", %w[--timeout 1e999] => "--timeout is at most",
      %w[-e ((] => "--eval", %w[--json --hex] => "--json or --hex",
      %w[-0 -J] => "--json or --null", %w[--keys] => "--keys", ["--keys", ""] => "--keys",
      %w[--keys /no/file] => "--keys: ",
      %w[-c ipc://@y --server-key ab] => "no file \"ab\", and a key",
      ["-c", "ipc://@y", "--server-key", __FILE__] => "holds no public key",
      ["--keys", __FILE__] => "holds no secret key",
      %w[--clients /no] => "--clients", %w[--nope] => "--nope", %w[extra] => "unexpected: extra",
      %w[-z] => "-z", %w[--quiet=1] => "--quiet"
    }
    %w[push sub rep].each { |type| assert_usage_errors(type, "-b", "ipc://@x", wrong) }
    wrong = {
      %w[push --rate 0] => "--rate is 1 or more", %w[push --interval -1] => "--interval",
      %w[push --interval 1 --rate 1] => "--interval or --rate",
      %w[push --wait-peers 0] => "--wait-peers is 1 or more",
      %w[pub --wait-peers -1] => "--wait-peers", %w[req --file /no/file] => "--file: ",
      %w[req -D a -F b] => "--data or --file", %w[rep -D a --echo] => "--data or --echo",
      %w[rep -e m --echo] => "--echo or --eval", %w[push -J -D x] => "--data: ",
      %w[push --hex -D abc] => "--data: ", ["dealer", "--identity", ""] => "--identity"
    }
    assert_usage_errors(wrong.transform_keys { |words| [*words, "-b", "ipc://@x"] })
    assert_usage_errors(TYPES.to_h { |type| [[type], "-b ENDPOINT to bind, or -c"] })
  end

  test "an option of other types is refused by name" do
    options = ["--subscribe a", "-s a", "--data a", "-D a", "--file a", "-F a", "--interval 1",
      "--rate 1", "--echo", "--wait-peers 1", "--identity a"]
    refused = TYPES.product(options)
      .reject { |type, option| run_line("help", type)[1].match?(/#{option.split.first}\b/) }
    assert_operator refused.size, :>, 30
    refused.each do |type, option|
      assert_usage_errors([type, "-b", "ipc://@x", *option.split] => "not for #{type}")
    end
  end

  # The words of a command => type and options of the peer that exchanges messages with it.
  PEERS = {
    %w[pull] => [:PUSH, {}], %w[sub] => [:PUB, {xpub_no_drop: true}], %w[rep --echo] => [:REQ, {}],
    %w[router --echo] => [:DEALER, {}], %w[dealer --identity me] => [:ROUTER, {mandatory: true}],
    %w[pub] => [:SUB, {subscribe: ""}], %w[req] => [:REP, {}]
  }.freeze

  # Sends numbers to the command, or receives its messages, until the peer is closed.
  def talk(peer)
    case peer.type
    when :REQ then (1..).each { |number| peer.send(number.to_s).recv }
    when :REP then peer.serve { |message| message }
    when :SUB then peer.each { |message| (@taken ||= []) << message }
    else (1..).each { |number| peer.send([*("me" if peer.type == :ROUTER), number.to_s]) }
    end
  rescue Godwit::ClosedError, Godwit::UnreachableError
    nil
  end

  test "INT and TERM at a random moment: it ends, after whole messages without a gap" do
    random = Random.new(Minitest.seed)
    PEERS.each_with_index do |(words, (type, options)), index|
      Godwit::TestSupport::Length.of(1, long: 10).times do |round|
        signal = %i[INT TERM][(index + round) % 2]
        peer = open_socket(type, **options)
        command = start(*words, "-c", peer.bind(endpoint_for(:ipc)).last_endpoint)
        feeder = in_thread { feed(command) } if %i[SUB REP].include?(type)
        peer.wait_connected if type == :PUB
        eventually { reach(peer) } if type == :ROUTER
        talker = in_thread { talk(peer) }
        (type == :SUB) ? eventually { @taken } : command.wait_for("\n")
        sleep(random.rand(0.02))
        command.signal(signal)
        assert_equal [{INT: 130, TERM: "TERM"}[signal], ""], [command.status, command.stderr], type
        assert_whole(command.stdout)
        peer.linger = 0.02
        peer.close
        [talker, *feeder].each(&:join)
        @taken = nil
      end
    end
  end

  # @return [Boolean] whether the command has connected to the ROUTER
  def reach(router)
    router.send(%w[me 0])
  rescue Godwit::UnreachableError
    false
  end

  # Writes lines to the command's input until the command ends, a million at most.
  def feed(command)
    1000.times { |block| command.write(Array.new(1000) { |line| "#{block * 1000 + line}\n" }.join) }
  rescue Errno::EPIPE, IOError
    nil
  end

  def assert_whole(output)
    assert output.empty? || output.end_with?("\n")
    numbers = output.lines.map { |line| Integer(line.split("\t").last.chomp, 10) }
    gap = numbers.each_cons(2).find { |one, next_one| next_one != one + 1 }
    assert_nil gap
  end

  # Runs a command in this process.
  # @return [Array(Integer, String, String)] status, output, errors
  def run_with(input, *words)
    before = $stdin
    $stdin = StringIO.new(input)
    run_line(*words)
  ensure
    $stdin = before
  end

  # @return [Socket] a bound socket with time-outs
  def peer(type, **options)
    socket = open_socket(type, recv_timeout: 20, **options).bind(endpoint_for(:ipc))
    @peer_endpoint = socket.last_endpoint
    socket
  end

  JSON_LINES = %(["gr\u00fcn","\\t"]\n[{"base64":"/wA="}]\n["\\u0085"]\n)

  test "the forms of messages, in both directions" do
    {
      [] => ["a\t\xff\n\nc", [["a", "\xff".b], "", "c"], "a\t\xff\n\nc\n"],
      %w[-0] => ["a\nb\0c\td\0", ["a\nb", %w[c d]], "a\nb\0c\td\0"],
      %w[--hex] => ["6 1\t\n00ff", [["a", ""], "\0\xff".b], "61\t\n00ff\n"],
      %w[-J] => [JSON_LINES, [["gr\u00fcn".b, "\t"], "\xff\0".b, "\u0085".b], JSON_LINES]
    }.each do |form, (input, messages, output)|
      pull = peer(:PULL)
      assert_equal [0, "", ""], run_with(input, "push", "-c", peer_endpoint, *form)
      assert_equal messages, Array.new(messages.size) { pull.recv }, form
      push = peer(:PUSH)
      talker = in_thread { push.send_many(messages) }
      status, printed, = run_line("pull", "-c", peer_endpoint, *form, "--count", messages.size)
      talker.join
      assert_equal [0, output.b], [status, printed.b]
    end
  end

  test "text that is no message ends the command with status 1, and names the message" do
    {"-J" => ["[\"a\"]\nx\n", "message 2 of the input: this is no JSON: x"],
     "--hex" => ["61\n\xff\n", "message 2 of the"]}.each do |form, (input, says)|
      peer(:PULL)
      status, _, errors = run_with(input, "push", "-c", peer_endpoint, form)
      assert_equal 1, status
      assert_includes errors, says
    end
  end

  # Messages that a peer sends: an escape sequence, and bytes that are no text.
  BYTES = ["x\e[1m", "\xff\0".b].freeze
  SHOWN = {false => "x\e[1m\t\xff\0".b, true => 'x\e[1m' + "\t" + '\xff\x00'}.freeze

  # Command => its options, its peer, the typed input, what the peer receives, whether it replies.
  TALKS = {
    "req" => [[], :REP, "a\tb\n", %w[a b], true], "pub" => [[], :SUB, "b\na\tb\n", %w[a b], false],
    "pair" => [%w[--count 1], :PAIR, "a\tb\n", %w[a b], true],
    "dealer" => [%w[--count 1 --identity me], :ROUTER, "a\tb\n", %w[me a b], true],
    "sub" => [%w[-s x --count 1], :XPUB, "", "\1x", true], "pull" => [%w[--count 1], :PUSH],
    "rep" => [%w[--count 1 --echo], :REQ], "router" => [%w[--count 1 --echo], :DEALER]
  }.freeze

  {"binds, with pipes" => true, "connects, with a terminal" => false}.each do |how, binds|
    test "each command #{how}" do
      TALKS.each do |name, (words, type, typed, received, answers)|
        more = {SUB: {subscribe: "a"}, DEALER: {routing_id: "me"}}.fetch(type, {})
        peer = open_socket(type, recv_timeout: 20, send_timeout: 20, **more)
        endpoint = binds ? endpoint_for(:ipc) : peer.bind("tcp://127.0.0.1:*").last_endpoint
        peer.connect(endpoint) if binds
        command = start(name, *words, binds ? "-b" : "-c", endpoint, terminal: !binds)
        if typed
          command.write(typed)
          assert_equal received, peer.recv, name
        end
        shown = SHOWN[!binds] if answers || typed.nil?
        peer.send("no topic") if type == :XPUB
        peer.send([*("me" if type == :ROUTER), *BYTES]) if shown
        assert_equal BYTES, peer.recv, name if words.include?("--echo")
        command.wait_for("\n") if shown
        command.end_input
        shown = "#{"me\t" if name == "router"}#{shown}\n" if shown
        assert_equal [0, "", shown.to_s.b], [command.status, command.stderr, command.stdout], name
        peer.close
      end
    end
  end

  test "--data, --count, --rate, --file, --eval of senders" do
    file = "#{scratch_dir}/lines"
    File.write(file, "1\n2\n3\n4\n")
    {
      %w[-D a -D b] => %w[a b], %w[-D a --count 3 --rate 1000] => %w[a a a],
      ["-F", file] => %w[1 2 3 4], ["-F", file, "--count", "2"] => %w[1 2],
      ["-F", file, "-e", "m.first if m.first.to_i.even?"] => %w[2 4],
      ["-F", file, "--interval", "0.001", "-e", "@n = @n.to_i + 1; [@n, m.first]"] =>
        [%w[1 1], %w[2 2], %w[3 3], %w[4 4]]
    }.each do |words, messages|
      pull = peer(:PULL)
      assert_equal [0, "", ""], run_line("push", "-c", peer_endpoint, *words)
      assert_equal messages, Array.new(messages.size) { pull.recv }
    end
  end

  test "--eval prints, skips, and ends the command when it raises; it sees Ruby's own names" do
    push = peer(:PUSH)
    feeder = in_thread { %w[a b c d].each { |text| push.send(text) } }
    code = 'm.first == "b" ? nil : [m.first.upcase, Monitor, self.class]'
    assert_equal [0, "A\tMonitor\tObject\nC\tMonitor\tObject\n", ""],
      run_line("pull", "-c", peer_endpoint, "--count", 2, "-e", code)
    feeder.join
    push = peer(:PUSH)
    feeder = in_thread { push.send("a") }
    assert_fails(1, /\Agodwit: --eval: undefined method .nope. .*\(NoMethodError\)\n\z/, "pull",
      "-c", peer_endpoint, "-e", "m.nope")
    feeder.join
  end

  test "rep and router reply: -e, -D, the input" do
    {
      ["rep", "-e", "m.map(&:upcase)"] => "A", ["rep", "-D", "x"] => "x",
      ["rep", "-e", "nil"] => "",
      ["router", "-e", "m.first * 2"] => "aa"
    }.each do |words, answer|
      req = peer(:REQ)
      asker = in_thread { req.send("a").recv }
      status, printed, = run_line(*words, "-c", peer_endpoint, "--count", 1)
      assert_equal [0, answer], [status, asker.value]
      assert printed.end_with?("a\n")
    end
    req = peer(:REQ)
    asker = in_thread { %w[a b].map { |text| req.send(text).recv } }
    assert_equal [0, "a\nb\n", ""], run_with("1\n2\n", "rep", "-c", peer_endpoint, "--count", 2)
    assert_equal %w[1 2], asker.value
    peer(:DEALER)
    _, _, errors = run_with("nobody\tx\n", "router", "-c", peer_endpoint, "--timeout", 0.2)
    assert_equal "godwit: no peer has the id \"nobody\"\n", errors
  end

  test "CURVE: --keys, --server-key and --clients" do
    skip "this libzmq has no CURVE" unless Godwit.has?(:curve)
    server, anna = %w[server anna].map { |name| Godwit::Cert.new(name) }
    [server, anna].each { |cert| cert.save(scratch_dir) }
    pull = peer(:PULL, curve: server.keypair)
    keys = ["--keys", "#{scratch_dir}/anna.key_secret", "--server-key", "#{scratch_dir}/server.key"]
    assert_equal [0, "", ""], run_line("push", "-c", peer_endpoint, "-D", "a", *keys)
    assert_equal "a", pull.recv
    Dir.mkdir("#{scratch_dir}/clients")
    anna.save_public("#{scratch_dir}/clients")
    endpoint = endpoint_for(:ipc)
    push = open_socket(:PUSH, curve: anna.keypair, server_key: server.public_key).connect(endpoint)
    push.send("b")
    assert_equal [0, "b\n", ""], run_line("pull", "-b", endpoint, "--count", 1, "--keys",
      "#{scratch_dir}/server.key_secret", "--clients", "#{scratch_dir}/clients", "--timeout", 20)
  end

  test "a closed output ends an idle command with 141; a full one does not keep it from ending" do
    push = peer(:PUSH)
    command = start("pull", "-c", peer_endpoint)
    push.send("a")
    command.wait_for("a\n").ignore_output(close: true)
    assert_equal [141, ""], [command.status, command.stderr]
    push = peer(:PUSH)
    command = start("pull", "-c", peer_endpoint)
    3.times { push.send("x" * 100_000) }
    command.wait_for("x").ignore_output.signal(:TERM)
    assert_equal "TERM", command.status
  end

  test "a command that connects says that it waits and why, and that the peer is there" do
    lines = {
      [%w[req -D x -c], []] => :REP, [%w[sub -c], []] => :PUB, [%w[log tail], []] => :XPUB,
      [%w[log send], ["x", "--timeout", "20"]] => :PULL, [%w[sh pull], []] => :PUSH,
      [%w[perf lat], %w[--timeout 20]] => :ROUTER, [%w[log stats], %w[--timeout 20]] => :ROUTER
    }
    started = lines.each_with_index.map do |((before, after), type), index|
      endpoint = "tcp://#{own_host}:#{7300 + index}"
      [start(*before, endpoint, *after), endpoint, type]
    end
    quiet = start("sub", "-c", "tcp://#{own_host}:7399", "--quiet", "--timeout", 2.5)
    started.each do |command, endpoint, type|
      command.wait_for(/./, in_errors: true)
      assert_equal "godwit: waiting for #{endpoint} (connection refused)\n", command.stderr
      open_socket(type).bind(endpoint)
      command.wait_for("godwit: connected to #{endpoint}\n", in_errors: true).signal(:INT)
    end
    assert_equal [124, ""], [quiet.status, quiet.stderr]
    started.each { |command,| command.finish }
  end

  test "check: the peer is there, refuses, does not answer" do
    rep = open_socket(:REP).bind("tcp://127.0.0.1:*").last_endpoint
    server = own(TCPServer.new("127.0.0.1", 0))
    free = "tcp://#{own_host}:7398"
    {
      [rep, "req"] => [0, "a peer is there at #{rep}: a REQ connected in"],
      [rep, "sub"] => [1, "a SUB talks to PUB"],
      [free, "req"] => [1, "connection refused at #{free}"],
      ["tcp://127.0.0.1:#{server.addr[1]}", "req", "--timeout", 0.2] => [124, "does not answer"],
      [rep, "req", "--server-key", "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"] => [1, "handshake"]
    }.each do |(endpoint, type, *more), (status, says)|
      found, printed, errors = run_line("check", endpoint, "--type", type, *more)
      assert_equal [status, "", 1], [found, errors, printed.lines.size], printed
      assert_includes printed, says
    end
    assert_usage_errors(["check", rep] => "--type TYPE",
      %w[check inproc://x --type req] => "threads of one process",
      %w[monitor inproc://x] => "threads of one process")
  end

  test "monitor prints events; proxy moves messages and counts them" do
    status, printed, = run_line("monitor", endpoint_for(:ipc), *%w[--bind --type rep --count 1])
    assert_equal 0, status
    assert_match(/\A\d\d:\d\d:\d\d\.\d{6} listening ipc:/, printed)
    front, back, capture = Array.new(3) { endpoint_for(:ipc) }
    command = start("proxy", "queue", front, back, "--capture", capture, "--stats", 0.05)
    command.wait_for("godwit: queue #{front} #{back} #{capture}\n", in_errors: true)
    status, printed, = run_line("monitor", front, "--json", "--count", 2, "--timeout", 20)
    assert_equal [0, %w[connected handshake_succeeded]],
      [status, printed.lines.map { |line| JSON.parse(line)["event"] }]
    rep = open_socket(:REP).connect(back)
    server = in_thread { rep.send(rep.recv) }
    assert_equal [0, "x\n", ""], run_line("req", "-c", front, "-D", "x")
    server.join
    counts = "front received 1 (6 bytes), sent 1 (6 bytes) · back received 1 (6 bytes), sent 1 " \
      "(6 bytes) · captured 2 · dropped 0\n"
    command.wait_for(counts.b).signal(:INT)
    assert_equal [130, true], [command.status, command.stderr.b.end_with?(counts.b)]
    assert_usage_errors("proxy", "queue",
      [front] => "which endpoints", [front, back, "--stats", 0] => "--stats")
  end
end
