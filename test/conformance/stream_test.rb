# frozen_string_literal: true

# libzmq: test_stream, test_stream_disconnect, test_stream_exceeds_buffer

require "test_helper"
require "socket"
require_relative "assertions"

# STREAM speaks raw TCP: the other side is a plain socket of Ruby's.
class StreamTest < Godwit::TestCase
  include Conformance::Assertions

  def connected
    stream = open_socket(:STREAM).bind(endpoint_for(:tcp))
    peer = TCPSocket.new("127.0.0.1", stream.port)
    (@peers ||= []) << peer
    id, notice = stream.recv(timeout: 5)
    assert_equal "", notice
    assert_equal 5, id.bytesize
    [stream, peer, id]
  end

  def teardown
    @peers&.each(&:close)
    super
  end

  def read(peer, count)
    bytes = +""
    eventually { (bytes << peer.readpartial(count)).bytesize >= count }
    bytes
  end

  test "a peer that connects is announced by an empty message, its bytes come with its id" do
    stream, peer, id = connected
    peer.write("GET / HTTP/1.0\r\n\r\n")
    assert_equal [id, "GET / HTTP/1.0\r\n\r\n"], stream.recv(timeout: 5)
    stream << [id, "HTTP/1.0 200 OK\r\n"] << [id, "\r\nbody\x00\xff".b]
    assert_equal "HTTP/1.0 200 OK\r\n\r\nbody\x00\xff".b, read(peer, 25)
  end

  test "bytes come in pieces as TCP likes, none is lost" do
    stream, peer, id = connected
    sent = Random.new(1).bytes(300_000)
    writer = in_thread { peer.write(sent) }
    got = +"".b
    while got.bytesize < sent.bytesize
      from, piece = stream.recv(timeout: 5)
      assert_equal id, from
      got << piece
    end
    writer.join
    assert_equal sent, got
  end

  test "a peer that hangs up is announced by an empty message" do
    stream, peer, id = connected
    peer.write("bye")
    assert_equal [id, "bye"], stream.recv(timeout: 5)
    peer.close
    assert_equal [id, ""], stream.recv(timeout: 5)
    assert_named(Godwit::UnreachableError, /routing id of the first frame/) do
      loop { stream << [id, "are you there?"] } # libzmq may take some before it lets go of the peer
    end
  end

  test "an empty message closes the connection" do
    stream, peer, id = connected
    stream << [id, "last words"]
    assert_equal "last words", read(peer, 10)
    stream << [id, ""]
    ended = in_thread { peer.read }
    eventually { stream.events && !ended.alive? } # libzmq hangs up while the STREAM is used
    assert_equal "", ended.value
  end

  test "several peers each have an id" do
    stream, peer, id = connected
    other = TCPSocket.new("127.0.0.1", stream.port)
    @peers << other
    other_id, = stream.recv(timeout: 5)
    refute_equal id, other_id
    stream << [id, "for one"] << [other_id, "for the other"]
    assert_equal ["for one", "for the other"], [read(peer, 7), read(other, 13)]
  end

  test "a STREAM connects to a plain server" do
    server = TCPServer.new("127.0.0.1", 0)
    stream = open_socket(:STREAM).connect("tcp://127.0.0.1:#{server.local_address.ip_port}")
    (@peers ||= []).push(server, peer = server.accept)
    id, notice = stream.recv(timeout: 5)
    assert_equal "", notice
    peer.write("220 ready\r\n")
    assert_equal [id, "220 ready\r\n"], stream.recv(timeout: 5)
    stream << [id, "HELO"]
    assert_equal "HELO", read(peer, 4)
  end

  test "without stream_notify only data is a message" do
    stream = open_socket(:STREAM, stream_notify: false).bind(endpoint_for(:tcp))
    peer = TCPSocket.new("127.0.0.1", stream.port)
    (@peers ||= []) << peer
    peer.write("data")
    assert_equal "data", stream.recv(timeout: 5).last
  end
end
