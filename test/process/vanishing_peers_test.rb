# frozen_string_literal: true

require "test_helper"

# Receivers that are killed repeatedly in the middle of large messages. Living receivers see whole
# messages only, the sender never stops, and a REQ stays usable. test/native/mid_message_test.rb
# tests each step, with all types; the gate kills peers of some here.
class VanishingPeersTest < Godwit::TestCase
  TYPES = Godwit::TestSupport::Length.of({PUSH: "PULL"},
    long: {PUSH: "PULL", DEALER: "DEALER", PAIR: "PAIR"})
  REQUESTS = Godwit::TestSupport::Length.of([{}], long: [{}, {relaxed: true, correlate: true}])
  KILLS = Integer(ENV.fetch("GODWIT_STRESS_KILLS", Godwit::TestSupport::Length.of(1, long: 15)))
  # copying such a message takes longer than libzmq works without processing its commands
  PART = 8 << 20

  deadline [KILLS * 6, 60].max

  RECEIVER = <<~RUBY
    require "godwit"
    type, endpoint = ARGV
    connect = -> do
      Godwit.const_get(type).connect(endpoint, recv_hwm: 2, linger: 0, reconnect_interval: 0.01)
    end
    socket = connect.call
    # A ROUTER has to hear of it; a PAIR with unread messages takes no other peer.
    socket.send("here") if type == "DEALER"
    loop do
      until (message = socket.recv(timeout: 1, exception: false))
        # One that comes before libzmq is done with the last peer is ignored for good.
        next unless type == "PAIR"
        socket.close
        socket = connect.call
      end
      count, *parts = message = Array(message)
      whole = count.to_i == parts.size + 1 && parts.each_with_index.all? do |part, index|
        part.getbyte(0) == index && part.getbyte(-1) == index
      end
      puts whole ? "whole" : "torn: \#{message.map { |part| part[0, 10] }}"
      socket.send("reply") if type == "REP"
    end
  RUBY

  TYPES.each do |type, peer|
    test "#{type} to peers that are killed" do
      socket = open_socket(type, send_hwm: 2).bind(endpoint_for(:tcp))
      assert_survives(socket, peer) do |random|
        socket.send(large_message(random), timeout: 10)
        true
      end
    end
  end

  REQUESTS.each do |options|
    test "REQ #{options.keys.join(" ")} to servers that are killed" do
      not_on :ffi, "a bound REQ whose request was cut raises StateError"
      req = open_socket(:REQ, **options).bind(endpoint_for(:tcp))
      patience = 0.1
      assert_survives(req, "REP") do |random|
        reply = req.request(large_message(random), timeout: patience, exception: false)
        # Without a reply the server died with the request, or is slow.
        patience = reply ? 0.1 : [patience * 2, 3].min
        reply == "reply"
      end
    end
  end

  private

  # A message whose first part holds the number of its parts.
  def large_message(random)
    @parts ||= Array.new(8) { |index| (index.chr * PART).freeze }
    count = random.rand(1..4)
    [(count + 1).to_s, *@parts.first(count)]
  end

  # Peers of this type are killed, each at some moment after its first message, while a thread calls
  # the block, which says whether a message went. The next peer gets on with it.
  def assert_survives(socket, peer)
    stop = false
    sent = 0
    sender = in_thread do
      random = Random.new(1)
      (sent += 1 if yield random) until stop
    end
    moments = Random.new(2)
    KILLS.times do
      child = start_child(RECEIVER, [peer, socket.last_endpoint])
      child.wait_for("whole")
      sleep(moments.rand(0.03)) # any moment will do
      end_child(child)
    end
    before = sent
    survivor = start_child(RECEIVER, [peer, socket.last_endpoint])
    eventually("the sender hangs") { sent > before + 2 }
    # Before the stop: the sender may be done with its last message, which went to a killed
    # receiver.
    survivor.wait_for("whole")
    stop = true
    assert sender.join(10), "the sender hangs: #{sender.backtrace&.first}"
    end_child(survivor)
  end

  def end_child(child)
    child.signal(:KILL)
    result = child.finish
    refute_includes result.stdout, "torn", result.to_s
    assert_equal "", result.stderr
  end
end
