# frozen_string_literal: true

require "test_helper"
require "socket"
require_relative "shim/shim"

# libzmq reports connection events in another order than they happened (ext/godwit/peers.c).
class PeersTest < Godwit::TestCase
  # The bytes of a client of ZMTP 3.0 with the PLAIN mechanism.
  GREETING = "\xff\0\0\0\0\0\0\0\x01\x7f\x03\0PLAIN".b.ljust(64, "\0").freeze
  INITIATE = "\x08INITIATE\x0bSocket-Type\0\0\0\x04PULL"
  REFUSED = "RROR\x03400" # libzmq 4.3.4 sends one byte instead of ERROR's length and E

  # With two I/O threads, one may report the handshake before the other reports the connection.
  test "a handshake that is reported before its connection counts, and so does the end" do
    assert_child(run_child(<<~RUBY, env: Godwit::TestSupport::Shim.windows(handover: 100_000)))
      require "godwit"
      context = Godwit::Context.new(linger: 0, io_threads: 2)
      push = Godwit::PUSH.bind("tcp://127.0.0.1:*", context: context)
      pulls =
        Array.new(3) do
          Godwit::PULL.connect(push.last_endpoint, context: Godwit::Context.new(linger: 0))
        end
      push.wait_connected(count: 3, timeout: 5)
      pulls.each_with_index do |pull, gone|
        pull.close
        await("not \#{2 - gone} after \#{gone + 1} went") { counted(push) == 2 - gone }
      end
      exit!(0)

      BEGIN {
        def counted(socket)
          socket.wait_connected(count: 9, timeout: 0.01)
        rescue Godwit::TimeoutError => error
          error.message[/(\\d+) of/, 1].to_i
        end
      }
    RUBY
  end

  # libzmq reports the end of a refused connection some time after the failed handshake. It may
  # report the ends of other connections in between.
  test "a peer that goes while a refused one is still there counts no longer, once both are gone" do
    push = guarded_push
    peer, = Array.new(2) { peer_of(push) }
    stranger(push, "good") # this client stays in the middle of its handshake
    refused = refused_by(push)
    peer.close # libzmq reports the two ends in this order
    refused.close
    assert(eventually { counted(push) == 1 })
    peer_of(push)
    assert_equal 2, counted(push)
  end

  test "a peer connects after the refusal, and goes before the refused peer does" do
    push = guarded_push
    refused = refused_by(push)
    peer = peer_of(push)
    peer.close
    assert(eventually { counted(push).zero? })
    refused.close
    peer_of(push)
    assert_equal 1, counted(push)
  end

  private

  # A socket that accepts the user "good".
  def guarded_push
    guard = open_socket(:REP).bind("inproc://zeromq.zap.01")
    in_thread do
      guard.serve { |ask| ["1.0", ask[1], (ask[6] == "good") ? "200" : "400", "", "", ""] }
    end
    open_socket(:PUSH, plain_server: true).bind(endpoint_for(:tcp))
  end

  # @return [TCPSocket] an accepted peer, which wait_connected counts
  def peer_of(push)
    before = counted(push)
    stranger(push, "good").tap do |peer|
      read_until(peer, "WELCOME")
      peer.write(command(INITIATE))
      push.wait_connected(count: before + 1, timeout: 5)
    end
  end

  # @return [TCPSocket] a refused peer, which has read the refusal and stays connected
  def refused_by(push)
    stranger(push, "nope").tap { |peer| read_until(peer, REFUSED) }
  end

  def stranger(push, user)
    TCPSocket.new("127.0.0.1", push.port).tap do |peer|
      (@strangers ||= []) << peer
      peer.write(GREETING + command("\x05HELLO\x04#{user}\x01x"))
    end
  end

  def teardown = @strangers&.each(&:close)

  def command(text) = "\x04".b << text.bytesize << text

  def read_until(peer, text)
    got = +"".b
    got << peer.readpartial(1000) until got.include?(text)
  end

  # @return [Integer] the number of peers in the message of wait_connected's time-out
  def counted(socket)
    socket.wait_connected(count: 99, timeout: 0)
  rescue Godwit::TimeoutError => error
    error.message[/(\d+) of 99/, 1].to_i
  end
end
