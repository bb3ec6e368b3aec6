# frozen_string_literal: true

require_relative "case"

# Godwit.socket in one process. test/process/after_fork_test.rb tests it in forked children.
class LazySocketTest < Conformance::Case
  def lazy(type = :PUSH)
    own(Godwit.socket do
      @opened = @opened.to_i + 1
      open_socket(type)
    end)
  end

  test "it opens at the first use, once for all threads" do
    push = lazy
    assert_equal "#<Godwit::LazySocket not opened>", push.inspect
    assert_equal [true, false, false],
      [push.respond_to?(:send_hwm), push.respond_to?(:to_ary), push.respond_to?(:no_such)]
    assert_equal [false, false, nil], [push.opened?, push.closed?, @opened]
    sockets = Array.new(4) { in_thread { push.socket } }.map { |thread| ended(thread) }
    assert_equal [1, 1, true], [sockets.uniq(&:object_id).size, @opened, push.opened?]
    assert_equal "#<Godwit::LazySocket #<Godwit::PUSH>>", push.inspect
    assert_raises(NoMethodError) { push.no_such }
  end

  test "it has the methods of its socket, and gives itself where the socket gives itself" do
    pull = lazy(:PULL)
    assert_same pull, pull.bind("inproc://lazy")
    push = lazy.connect("inproc://lazy")
    assert_same push, push << "a" << %w[b c]
    assert_same push, push.send("d", timeout: 5)
    assert_same push, push.send_many(%w[e f])
    assert_equal ["a", %w[b c]], [pull.recv, pull.recv(timeout: 5)]
    assert_equal %w[d e f], pull.recv_many
    assert_equal :wait_readable, pull.recv_nonblock(exception: false)
    assert_nil pull.recv(timeout: 0, exception: false)
    push << "g"
    assert_equal ["g"], pull.first(1)
    push.linger = 2
    assert_equal 2, push.linger
    assert_instance_of Godwit::PUSH, push.socket
    assert_raises(Godwit::UnsupportedError) { push.recv }
  end

  test "a closed one stays closed" do
    unused = lazy
    2.times { assert_nil unused.close }
    assert_predicate unused, :closed?
    assert_equal "#<Godwit::LazySocket not opened (closed)>", unused.inspect
    assert_named(Godwit::ClosedError, /it is closed: Godwit.socket/) { unused << "x" }
    refute @opened

    used = lazy
    socket = used.socket
    used.close
    assert_predicate socket, :closed?
    assert_raises(Godwit::ClosedError) { used.send("x") }
    assert_equal 1, @opened

    # The block closes its own lazy socket before it returns the real socket.
    late = Godwit.socket { open_socket(:PUSH).tap { |one| (socket = one) && late.close } }
    assert_raises(Godwit::ClosedError) { late << "x" }
    assert_predicate socket, :closed?
  end

  test "a block that fails is called again; wrong blocks are named" do
    tries = [nil, "tcp://127.0.0.1:1", open_socket(:PUSH)]
    push = Godwit.socket { tries.shift or raise KeyError }
    assert_raises(KeyError) { push.socket }
    assert_named(Godwit::ArgumentTypeError, /gives a new Godwit::Socket: got "tcp:/) { push.socket }
    assert_equal :PUSH, push.type
    itself = Godwit.socket { itself.socket }
    assert_mistakes(
      -> { Godwit.socket } => [Godwit::ArgumentValueError, /needs a block/],
      -> { Godwit.after_fork } => [Godwit::ArgumentValueError, /needs a block/],
      -> { itself.socket } => [Godwit::UnsupportedError, /the socket's own block/],
      -> { push.clone } => [Godwit::UnsupportedError, //]
    )
  end
end
