# frozen_string_literal: true

require "test_helper"
require "socket"

# A REP whose peers send invalid requests, and depart.
class StrangersTest < Godwit::TestCase
  each_transport("a REP answers the request after messages without a delimiter, from peers that " \
    "have left") do |transport|
    rep = open_socket(:REP).bind(endpoint_for(transport))
    assert_equal [:REP, :REP], [rep.type, rep.get(:type)]
    req = open_socket(:REQ).connect(rep.last_endpoint)
    20.times do |i|
      strangers = [["garbage"], %w[two frames], [""]].map do |message|
        open_socket(:DEALER, linger: 0.3).connect(rep.last_endpoint).send(message)
      end
      strangers.each(&:close)
      assert_served(rep, req, i)
    end
  end

  test "a REP answers the request after frames of no request, from a peer that speaks ZMTP" do
    rep = open_socket(:REP).bind("tcp://127.0.0.1:*")
    req = open_socket(:REQ).connect(rep.last_endpoint)
    ready = "\x05READY\x0BSocket-Type\0\0\0\x06DEALER".b
    5.times do |i|
      raw = TCPSocket.new("127.0.0.1", rep.port)
      raw.write(
        "\xFF#{"\0" * 8}\x7F\x03\x00NULL#{"\0" * 16}\0#{"\0" * 31}".b,
        [4, ready.bytesize].pack("CC"), ready
      )
      raw.read(64) # the REP's greeting
      raw.read(raw.read(2).getbyte(1)) # the REP's READY
      raw.write("\x01\x01a\x00\x01b".b)
      raw.close_write
      assert_equal "", raw.read # the REP has closed the connection
      raw.close
      assert_served(rep, req, i)
    end
  end

  private

  def assert_served(rep, req, number)
    req.send("request #{number}")
    assert_equal "request #{number}", rep.recv(timeout: 5)
    rep.send("reply #{number}")
    assert_equal "reply #{number}", req.recv(timeout: 5)
  end
end
