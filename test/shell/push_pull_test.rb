# frozen_string_literal: true

require "test_helper"
require "socket"

# Shell::Push and Shell::Pull: streams of rows that have an end.
class ShellPushPullTest < Godwit::TestCase
  Shell = Godwit::Shell

  # @return [Array(Push, Status, *Object)] the push, its status, the block's value for each pull
  def push_and_pulls(stream, pulls: 1, **socket_options)
    push, socket = bound(:PUSH, **socket_options)
    threads = Array.new(pulls) { |index|
      in_thread { yield connected(:PULL, socket.last_endpoint).first, index }
    }
    socket.wait_connected(count: pulls, timeout: 10)
    [push, push.run(stream), *threads.map(&:value)]
  end

  # @return [Array(Push | Pull, Socket)] an object of this type, whose socket has bound
  def bound(type, endpoint = endpoint_for(:tcp), **options)
    socket = open_socket(type, **options)
    [Shell.const_get(type.capitalize).new(socket).tap { socket.bind(endpoint) }, socket]
  end

  # @return [Array(Push | Pull, Socket)] an object of this type, whose socket has connected
  def connected(type, endpoint)
    socket = open_socket(type)
    [Shell.const_get(type.capitalize).new(socket).tap { socket.connect(endpoint) }, socket]
  end

  test "a pull gets all rows, the end, and the command's status" do
    push, status, (rows, pull) =
      push_and_pulls(Shell.rows("seq 10000; exit 3", shell: true)) { |pull| [pull.to_a, pull] }
    assert_equal (1..10_000).map(&:to_s), rows
    assert_equal [3, 3, false, true],
      [status.exitstatus, pull.exitstatus, push.left?, pull.complete?]
    assert_equal [{exitstatus: 3, signal: nil, timed_out: nil, rows: 10_000}], pull.ends
  end

  test "a pull that comes after the end gets it, too" do
    push, socket = bound(:PUSH)
    first = open_socket(:PULL).connect(socket.last_endpoint)
    thread = in_thread { push.run(Shell.rows("true")) }
    assert_equal "end", first.recv(timeout: 5).first
    assert_predicate connected(:PULL, socket.last_endpoint).first.tap(&:to_a), :complete?
    first.close
    assert_predicate thread.value, :success?
  end

  test "rows in transit to a pull that left delay nothing" do
    push, socket = bound(:PUSH, linger: 1000)
    reader = open_socket(:PULL, recv_hwm: 1).connect(socket.last_endpoint)
    thread = in_thread { push.run(Shell.rows("yes", "x" * 10_000)) }
    reader.recv(timeout: 5)
    eventually { !socket.writable? }
    reader.close
    assert_predicate thread.value, :stopped?
    ended(in_thread { context.close })
  end

  test "an end that is lost because a pull leaves is sent again" do
    push, socket = bound(:PUSH)
    silent = open_socket(:PULL).connect(socket.last_endpoint)
    thread = in_thread { push.run(Shell.rows("true")) }
    assert_equal %w[end end end], 3.times.map { silent.recv(timeout: 5).first }
    silent.close
    assert_predicate thread.value, :success?
  end

  GREETING = "\xFF#{"\0" * 8}\x7F\x03\x00NULL#{"\0" * 48}".b
  # Peers that are no PUSH or PULL. Of the first two, libzmq reports a disconnect and no handshake.
  STRANGERS = {
    "sends zeros" => "\0" * 20,
    "is a DEALER" => "#{GREETING}\x04\x1C\x05READY\x0BSocket-Type\0\0\0\x06DEALER".b,
    "says nothing" => "", "speaks HTTP" => "GET / HTTP/1.0\r\n\r\n"
  }.freeze

  STRANGERS.each do |name, said|
    %w[before after].each do |moment|
      test "a stranger that #{name} and leaves #{moment} a peer came does not end a push" do
        push, socket = bound(:PUSH, "tcp://127.0.0.1:*")
        pull = nil
        stranger_at(socket, said) do
          next if moment == "before"
          pull, = connected(:PULL, socket.last_endpoint)
          socket.wait_connected(timeout: 5)
        end
        thread = in_thread { push.run(Shell.rows("seq", "3")) }
        pull ||= connected(:PULL, socket.last_endpoint).first
        assert_equal [%w[1 2 3], true], [pull.to_a, pull.complete?]
        assert_predicate thread.value, :success?
        refute_predicate push, :left?
      end
    end

    test "a stranger that #{name} and leaves does not end a pull" do
      pull, socket = bound(:PULL, "tcp://127.0.0.1:*")
      thread = in_thread { pull.to_a }
      stranger_at(socket, said)
      push, = connected(:PUSH, socket.last_endpoint)
      assert_predicate push.run(Shell.rows("seq", "3")), :success?
      assert_equal [%w[1 2 3], true], [thread.value, pull.complete?]
    end
  end

  test "a pull that leaves ends neither the other nor the push" do
    push, status, first, second =
      push_and_pulls(Shell.rows("seq", "20000"), pulls: 2) do |pull, index|
        index.zero? ? pull.first(1) : [pull.count, pull.complete?]
      end
    refute_predicate push, :left?
    assert_predicate status, :success?
    assert_equal [1, true], [first.size, second.last]
  end

  test "a push that leaves early ends its pull, which prints the received rows, and reports a " \
    "missing end" do
    socket = open_socket(:PUSH, linger: 5)
    socket.bind(endpoint_for(:tcp))
    thread = in_thread do
      pull, = connected(:PULL, socket.last_endpoint)
      batches = []
      pull.each_batch(10) do |rows|
        # The pull must also receive rows that arrived before the sender disconnected.
        eventually { pull.instance_variable_get(:@departed) == 1 } if batches.empty?
        batches << rows
      end
      [batches.flatten, pull.complete?, pull.exitstatus]
    end
    socket.wait_connected(timeout: 5)
    socket.send_many((1..100).map(&:to_s))
    socket.close
    assert_equal [(1..100).map(&:to_s), false, nil], thread.value
  end

  test "a bound pull takes the rows of several pushes, to the last push's end" do
    pull, socket = bound(:PULL)
    pushes = [2, 0].map do |exitstatus|
      push, push_socket = connected(:PUSH, socket.last_endpoint)
      push_socket.wait_connected(timeout: 5)
      in_thread { push.run(Shell.rows("seq 500; exit #{exitstatus}", shell: true)) }
    end
    # If the pull knew of one push only, it would end with that push.
    eventually { pull.instance_variable_get(:@came) == 2 }
    assert_equal 1000, pull.count
    assert_equal [true, 2, 2], [pull.complete?, pull.exitstatus, pull.ends.size]
    assert_equal [0, 2], pushes.map { |thread| thread.value.exitstatus }.sort
  end

  test "a message that is no row is left out and counted" do
    socket = open_socket(:PUSH, linger: 5)
    socket.bind(endpoint_for(:tcp))
    pull, = connected(:PULL, socket.last_endpoint)
    thread = in_thread { [pull.to_a, pull.foreign] }
    [
      %w[end {], ["end", "[]"], %w[end {}], %w[what is this], %w[out x], "row", %w[end 1 2]
    ].each { |message| socket.send(message, timeout: 5) }
    socket.close
    assert_equal [[[:out, "x"], "row"], 5], thread.value
  end

  test "both in fibers of one thread" do
    not_on :ffi, "a wait there holds its thread"
    not_on :jruby, "JRuby has no fiber scheduler"
    push, socket = bound(:PUSH)
    statuses = {}
    # With 20,000 rows the checks of types would take longer than the deadline for a hang.
    count = ENV["GODWIT_TEST_TYPES"] ? 2000 : 20_000
    thread = Godwit::TestSupport::TinyScheduler.thread do
      Fiber.schedule do
        statuses[:push] = push.run(Shell.rows("seq #{count}; exit 2", shell: true)).exitstatus
      end
      Fiber.schedule do
        pull, = connected(:PULL, socket.last_endpoint)
        statuses[:pull] = [pull.count, pull.exitstatus]
      end
    end
    assert thread.join(10), "the fibers hang"
    assert_equal({push: 2, pull: [count, 2]}, statuses)
  end

  test "sockets that do not serve are refused" do
    pull, push = connected_pair(:PULL, :PUSH)
    {[Shell::Push, pull] => TypeError, [Shell::Pull, push] => TypeError,
     [Shell::Push, push] => Godwit::StateError, [Shell::Pull, pull] => Godwit::StateError}
      .each do |(type, socket), error|
      assert_kind_of error, assert_raises(Godwit::Error) { type.new(socket) }
    end
    push, = bound(:PUSH, endpoint_for(:inproc))
    assert_raises(Godwit::UnsupportedError) { push.run(Shell.rows("true")) }
    pull, = bound(:PULL, endpoint_for(:inproc))
    assert_raises(Godwit::UnsupportedError) { pull.to_a }
  end

  test "a Pull is a command's input, up to its end" do
    _, _, rows =
      push_and_pulls(Shell.rows("seq", "1000")) { |pull| Shell.rows("wc", "-l", input: pull).to_a }
    assert_equal ["1000"], rows
  end

  test "a slow pull gets its end, too" do
    _, _, *parts = push_and_pulls(Shell.rows("seq", "400"), pulls: 3, send_hwm: 1) do |pull, index|
      rows = []
      pull.each do |row|
        rows << row
        while index.zero? && rows.size == 1 && !pull.instance_variable_get(:@socket).readable?
          Thread.pass
        end
      end
      [rows, pull.complete?]
    end
    assert_equal (1..400).to_a, parts.flat_map(&:first).map(&:to_i).sort
    assert parts.all?(&:last)
  end

  private

  # Returns after the stranger is gone. libzmq reports a disconnect before it removes the pipe of
  # the connection, but removes the pipe before it accepts the next connection.
  def stranger_at(socket, said)
    left = own(socket.monitor(:disconnected))
    TCPSocket.open("127.0.0.1", socket.port) do |stranger|
      stranger.write(said)
      yield if block_given?
    end
    assert left.next_event(timeout: 5)
    accepted = own(socket.monitor(:accepted))
    TCPSocket.open("127.0.0.1", socket.port) { assert accepted.next_event(timeout: 5) }
    socket.events
  end
end
