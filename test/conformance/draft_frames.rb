# frozen_string_literal: true

require "support/draft_pairs"

# The tests that draft_test.rb runs on a libzmq with drafts: frames, messages, trackers and pollers
# with the draft types.
module DraftFrames
  extend DraftPairs::Naming
  include DraftPairs

  each_transport("a SERVER's frame knows its peer, and is sent back without a copy") do |transport|
    server, client, id = server_and_client(transport)
    client.send("question")
    frame = server.recv_frame(timeout: 5)
    assert_equal ["question", id, nil], [frame.to_s, frame.routing_id, frame.group]
    server.send(frame, routing_id: frame.routing_id)
    assert_predicate frame, :gone?
    assert_equal "question", client.recv_message(timeout: 5).first.to_s
    server.send(Godwit::Message.new("whole"), routing_id: id)
    server.send_many([Godwit::Frame.new("many"), "strings"], routing_id: id)
    assert_equal %w[whole many strings], take(client, 3)
    assert_named(Godwit::GoneError, /gone/) { server.send(frame, routing_id: id) }
  end

  each_transport("a DISH's frame knows its group") do |transport|
    radio, dish = radio_and_dish(transport, "weather")
    radio.send(Godwit::Frame.new("rain"), group: "weather")
    frame = dish.recv_frame(timeout: 5)
    assert_equal ["rain", "weather", nil], [frame.to_s, frame.group, frame.routing_id]
    assert_equal ["weather", nil], [frame.dup.group, Godwit::Frame.new("x").group]
  end

  test "large frozen Strings go in place, tracked" do
    server, client, id = server_and_client(:tcp)
    data = ("x" * 500_000).freeze
    trackers = [server.send(data, routing_id: id, track: true), client.send(data, track: true)]
    assert_equal data, client.recv(timeout: 5)
    assert_equal [id, data], server.recv_from(timeout: 5)
    assert(trackers.all? { |tracker| tracker.wait(5) })
    gather = open_socket(:GATHER).bind(endpoint_for(:tcp))
    tracker =
      open_socket(:SCATTER).connect(gather.last_endpoint).send(Godwit::Frame.new(data), track: true)
    assert_equal data, gather.recv_frame(timeout: 5).to_s
    assert tracker.wait(5)
  end

  test "a DGRAM's message can be sent back to its sender" do
    first = Godwit::TestSupport::Ports.free(2, socket: UDPSocket)
    one, two = [first, first + 1].map { |port| "127.0.0.1:#{port}" }
    here, there = [one, two].map { |address| open_socket(:DGRAM).bind("udp://#{address}") }
    message = eventually do
      here.send([two, Godwit::Frame.new("ping")])
      there.recv_message(timeout: 0.05, exception: false)
    end
    there.send(message)
    assert_equal [two, "ping"], here.recv(timeout: 5)
    assert_named(Godwit::MessageError, /IPv4 address/) do
      here.send([Godwit::Frame.new("nowhere"), "x"])
    end
  end

  test "a poller waits for thread-safe types beside others" do
    server, client, id = server_and_client(:tcp)
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    poller = open_poller(server, client, pull)
    3.times do |round|
      assert_empty poller.wait(0)
      waiting = waiting_on(poller) { poller.wait(5).map(&:object) }
      client.send(round.to_s)
      assert_equal [server], waiting.value
      assert_equal [server], poller.wait(30).map(&:object) # it still is
      assert_equal [id, round.to_s], server.recv_from
      server.send("to the client", routing_id: id)
      push.send("x")
      seen = []
      seen |= poller.wait(5).map(&:object) until seen.size == 2
      assert_equal [client, pull].map(&:object_id).sort, seen.map(&:object_id).sort
      assert_equal ["to the client", "x"], [client.recv, pull.recv]
    end
    writing = open_poller.register(client, :writable)
    assert_equal [client], writing.wait(5).map(&:object)
  end
end
