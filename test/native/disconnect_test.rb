# frozen_string_literal: true

require "test_helper"

# A read of ZMQ_EVENTS lets libzmq begin to read a message. libzmq aborts when the socket then
# disconnects from that message's peer.
class DisconnectTest < Godwit::TestCase
  PAIRS = {ROUTER: :DEALER, REP: :REQ, SUB: :PUB, XSUB: :XPUB}.freeze
  RECEIVES = {
    recv: ->(socket) { socket.recv_multipart(timeout: 5) },
    recv_message: ->(socket) { socket.recv_message(timeout: 5).to_a.map(&:to_s) },
    recv_many: ->(socket) { Array(socket.recv_many(1, timeout: 5).first) },
    recv_frame: lambda do |socket|
      frames = [socket.recv_frame(timeout: 5)]
      frames << socket.recv_frame(timeout: 5) while frames.last.more?
      frames.map(&:to_s)
    end
  }.freeze

  PAIRS.each do |type, other|
    RECEIVES.each do |name, receive|
      test "a #{type} that is readable keeps the message when it disconnects, for #{name}" do
        socket, peer = connected(type, other)
        peer.send(%w[x y z])
        assert socket.wait_readable(5)
        socket.disconnect(peer.last_endpoint)
        assert_includes socket.events, :readable
        assert_equal %w[x y z], receive.call(socket).last(3)
        assert_equal :wait_readable, socket.recv_nonblock(exception: false) unless type == :REP
      end
    end

    test "messages that a #{type} keeps come before other peers' messages, and a poller reports " \
      "them" do
      socket, peer = connected(type, other)
      second = open_socket(other).bind(endpoint_for(:inproc))
      socket.connect(second.last_endpoint)
      poller = open_poller(socket)
      peer.send(%w[x y z])
      assert_equal [socket], poller.wait(5).map(&:object)
      socket.disconnect(peer.last_endpoint)
      subscribed(second)
      second.send(%w[1 2 3])
      2.times do |i|
        assert_equal [socket], poller.wait(5).map(&:object)
        assert_equal [%w[x y z], %w[1 2 3]][i], socket.recv_multipart(timeout: 5).last(3)
        socket.send("reply") if type == :REP
      end
    end
  end

  test "a REP whose peer is disconnected while it reads can reply and continue" do
    rep, req = connected(:REP, :REQ)
    req.send("one")
    assert rep.wait_readable(5)
    2.times { rep.disconnect(req.last_endpoint) if rep.endpoints.any? }
    assert_equal "one", rep.recv(timeout: 5)
    rep.send("nobody hears")
    other = open_socket(:REQ).bind(endpoint_for(:inproc))
    rep.connect(other.last_endpoint)
    other.send("two")
    assert_equal "two", rep.recv(timeout: 5)
    rep.send("received")
    assert_equal "received", other.recv(timeout: 5)
  end

  private

  def connected(type, other)
    peer = open_socket(other).bind(endpoint_for(:tcp))
    options = (type == :SUB) ? {subscribe: ""} : {}
    socket = open_socket(type, **options).connect(peer.last_endpoint)
    socket.send("\1") if type == :XSUB
    subscribed(peer)
    [socket, peer]
  end

  def subscribed(peer)
    case peer.type
    when :PUB then peer.wait_connected(timeout: 5)
    when :XPUB then assert_equal "\1".b, peer.recv(timeout: 5)
    end
  end
end
