# frozen_string_literal: true

require_relative "interop_case"
require "godwit/cli"
require "support/forked_command"

# The socket commands with pyzmq, in both directions; the commands have pipes or a terminal.
class InteropCLITest < InteropCase
  # What a peer sends, and how pipes and terminals show it.
  BYTES = ["x\e[1m", "\xff\0".b].freeze
  SHOWN = {false => "x\e[1m\t\xff\0".b, true => 'x\e[1m' + "\t" + '\xff\x00'}.freeze

  def teardown
    @command&.finish
    super
  end

  # Starts a command with the peer.
  # @param binds [Boolean] whether the command binds
  def start(words, peer, binds, terminal)
    endpoint = binds ? endpoint_for(:ipc) : peer.bind("tcp://127.0.0.1:*")
    peer.connect(endpoint) if binds
    @command = Godwit::TestSupport::ForkedCommand
      .new(*words, binds ? "-b" : "-c", endpoint, terminal: terminal)
  end

  def assert_ends(printed)
    assert_equal [0, "", printed.b],
      [@command.status, @command.stderr, @command.stdout], @command.stdout
  end

  # Each block talks to the peer and gives what the command prints.
  TALKS = {
    req: [[], :REP, ->(peer, shown) do
      @command.write("a\tb\n")
      assert_equal %w[a b], peer.recv
      peer.send(*BYTES)
      @command.wait_for("\n").end_input
      shown
    end],
    rep: [%w[--echo --count 1], :REQ, ->(peer, shown) do
      peer.send(*BYTES)
      assert_equal BYTES, peer.recv
      shown
    end],
    push: [[], :PULL, ->(peer, _) do
      @command.write("a\tb\n\n").end_input
      assert_equal [%w[a b], [""]], [peer.recv, peer.recv]
      ""
    end],
    pull: [%w[--count 2], :PUSH, ->(peer, shown) do
      peer.send(*BYTES)
      peer.send("")
      "#{shown}\n".b
    end],
    pub: [[], :SUB, ->(peer, _) do
      peer.subscribe("a")
      @command.write("b\na\tb\n").end_input
      assert_equal %w[a b], peer.recv
      ""
    end],
    sub: [%w[-s x --count 1], :XPUB, ->(peer, shown) do
      assert_equal ["\1x"], peer.recv
      peer.send("y")
      peer.send(*BYTES)
      shown
    end],
    pair: [%w[--count 1], :PAIR, ->(peer, shown) do
      @command.write("a\tb\n")
      assert_equal %w[a b], peer.recv
      peer.send(*BYTES)
      shown
    end],
    dealer: [%w[--count 1 --identity me], :ROUTER, ->(peer, shown) do
      @command.write("a\tb\n")
      assert_equal %w[me a b], peer.recv
      peer.send("me", *BYTES)
      shown
    end],
    router: [%w[--count 1 --echo], :DEALER, ->(peer, shown) do
      peer.send(*BYTES)
      assert_equal BYTES, peer.recv
      "me\t".b + shown
    end]
  }.freeze

  {"binds, with pipes" => true, "connects, with a terminal" => false}.each do |how, binds|
    test "each command #{how}" do
      TALKS.each do |name, (words, type, talk)|
        peer = python.socket(type, **((type == :DEALER) ? {ROUTING_ID: "me"} : {}))
        start([name, *words], peer, binds, !binds)
        printed = instance_exec(peer, SHOWN[!binds], &talk)
        assert_ends(printed.empty? ? "" : "#{printed}\n".b)
        peer.close
      end
    end
  end
end
