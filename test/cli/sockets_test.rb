# frozen_string_literal: true

require "test_helper"
require "godwit/cli"
require "support/forked_command"

# `godwit req`, `rep`, `pub` and so on, in this process where no signal or pipe matters.
class CLISocketsTest < Godwit::TestCase
  deadline 300
  TYPES = Godwit::CLI::SOCKETS

  def teardown
    (@commands || []).each(&:kill)
  end

  # @return [ForkedCommand] ended with the test
  def start(*words, **options)
    command = Godwit::TestSupport::ForkedCommand.new(*words, **options)
    (@commands ||= []) << command
    command
  end

  def place = @place ||= endpoint_for(:ipc)

  def assert_usage(says, *words)
    status, out, err = run_line(*words)
    assert_equal [2, ""], [status, out], words.join(" ")
    assert_includes err, says, words.join(" ")
  end

  test "a wrong value of each option is named" do
    {
      %w[--bind nope] => "--bind: ", %w[-b inproc://a] => "--bind: inproc", %w[-b] => "-b",
      %w[--connect tcp://h:99999] => "--connect: tcp://h:99999: Malformed",
      %w[-c tpc://:1] => "--connect: tpc", %w[--count 0] => "--count is 1 or more",
      %w[--count x] => "--count x", %w[--timeout -1] => "--timeout is 0 or more",
      %w[--timeout x] => "--timeout x", %w[--timeout 1e999] => "--timeout is at most",
      %w[-e ((] => "--eval", %w[--json --hex] => "--json or --hex",
      %w[-0 -J] => "--json or --null", %w[--keys] => "--keys", ["--keys", ""] => "--keys",
      %w[--keys /no/file] => "--keys: ", %w[-c ipc://@y --server-key ab] => "--server-key: ",
      %w[--clients /no] => "--clients", %w[--nope] => "--nope", %w[extra] => "unexpected: extra",
      %w[-z] => "-z", %w[--quiet=1] => "--quiet"
    }.each do |words, says|
      %w[push sub rep].each { |type| assert_usage(says, type, "-b", "ipc://@x", *words) }
    end
    {
      %w[push --rate 0] => "--rate is 1 or more", %w[push --interval -1] => "--interval",
      %w[push --interval 1 --rate 1] => "--interval or --rate",
      %w[push --wait-peers 0] => "--wait-peers is 1 or more",
      %w[pub --wait-peers -1] => "--wait-peers", %w[req --file /no/file] => "--file: ",
      %w[req -D a -F b] => "--data or --file", %w[rep -D a --echo] => "--data or --echo",
      %w[rep -e m --echo] => "--echo or --eval", %w[push -J -D x] => "--data: ",
      %w[push --hex -D abc] => "--data: ", ["dealer", "--identity", ""] => "--identity"
    }.each { |words, says| assert_usage(says, *words, "-b", "ipc://@x") }
    TYPES.each { |type| assert_usage("-b ENDPOINT to bind, or -c", type) }
  end

  test "an option of other types is refused by name" do
    refused = TYPES.product(
      ["--subscribe a", "-s a", "--data a", "-D a", "--file a", "-F a", "--interval 1", "--rate 1",
        "--echo", "--wait-peers 1", "--identity a"]
    ).reject { |type, option| run_line("help", type)[1].match?(/#{option.split.first}\b/) }
    assert_operator refused.size, :>, 30
    refused.each do |type, option|
      assert_usage("not for #{type}", type, "-b", "ipc://@x", *option.split)
    end
  end

  # A peer that talks until it is closed; type, and the messages of a receiving command.
  PEERS = {
    "pull" => :PUSH, "sub" => :PUB, "rep" => :REQ, "router" => :DEALER, "pair" => :PAIR,
    "dealer" => :ROUTER, "push" => :PULL, "pub" => :SUB, "req" => :REP
  }.freeze

  OPTIONS = {SUB: {subscribe: ""}, PUB: {xpub_no_drop: true}, ROUTER: {mandatory: true}}.freeze

  # Sends numbers to the command, or takes its messages, until the socket is closed.
  def talk(peer)
    case peer.type
    when :REQ then (1..).each { |number| peer.send(number.to_s).recv }
    when :REP then peer.serve { |message| message }
    when :PULL, :SUB then peer.each { |message| (@taken ||= []) << message }
    else (1..).each { |number| peer.send([*("me" if peer.type == :ROUTER), number.to_s]) }
    end
  rescue Godwit::ClosedError, Godwit::UnreachableError
    nil
  end

  test "INT and TERM at a random moment: it ends, after whole messages without a gap" do
    random = Random.new(Minitest.seed)
    PEERS.each_with_index do |(name, type), index|
      Godwit::TestSupport::Length.of(1, long: 10).times do |round|
        signal = %i[INT TERM][(index + round) % 2]
        peer = open_socket(type, **OPTIONS.fetch(type, {}))
        endpoint = peer.bind(endpoint_for(:ipc)).last_endpoint
        options = {"router" => %w[--echo], "rep" => %w[--echo], "dealer" => %w[--identity me]}
        command = start(name, "-c", endpoint, *options[name])
        feeder = in_thread { feed(command) } if %w[push pub req].include?(name)
        peer.wait_connected if type == :PUB
        eventually { reach(peer) } if type == :ROUTER
        talker = in_thread { talk(peer) }
        (name == "pub" || name == "push") ? eventually { @taken } : command.wait_for("\n")
        sleep(random.rand(0.02))
        command.signal(signal)
        assert_equal({INT: 130, TERM: "TERM"}[signal], command.status, name)
        assert_empty command.errors
        assert_whole(command.output)
        peer.linger = 0.02
        peer.close
        [talker, *feeder].each(&:join)
        @taken = nil
      end
    end
  end

  # @return [Boolean] whether the command is there
  def reach(router)
    router.send(%w[me 0])
  rescue Godwit::UnreachableError
    false
  end

  # Types a thousand times a thousand lines, until the command has ended.
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
end
