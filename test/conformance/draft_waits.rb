# frozen_string_literal: true

require "support/draft_pairs"
require "support/wait_endings"

# Draft types on a libzmq with drafts: waits and their endings, frames, messages, trackers and
# pollers.
class DraftWaitsTest < Conformance::Case
  include DraftPairs
  include Godwit::TestSupport::WaitEndings

  test "timeouts, nonblocking forms, readiness" do
    server, client, id = server_and_client
    assert_raises(Godwit::TimeoutError) { client.recv(timeout: 0.01) }
    assert_raises(Godwit::TimeoutError) { server.recv_from(timeout: 0.01) }
    assert_nil server.recv_from(timeout: 0, exception: false)
    assert_equal :wait_readable, client.recv_nonblock(exception: false)
    assert_equal [false, true], [client.readable?, client.writable?]
    server.send_nonblock("a", routing_id: id)
    assert_same client, client.wait_readable(5)
    assert_equal %i[readable writable], client.events
    assert_equal "a", client.recv_nonblock
    assert_nil client.wait_readable(0.01)
    lonely = open_socket(:CHANNEL)
    assert_equal :wait_writable, lonely.send_nonblock("x", exception: false)
    assert_raises(Godwit::TimeoutError) { lonely.send("x", timeout: 0.01) }
    assert_nil open_socket(:DISH).recv_with_group(timeout: 0, exception: false)
    assert_raises(Godwit::TimeoutError) do
      open_socket(:DGRAM).send(%w[127.0.0.1:9 unbound], timeout: 0.01)
    end
  end

  test "a sender waits for room, and resumes when there is some" do
    server, client, id = server_and_client(:inproc, send_hwm: 1, recv_hwm: 1)
    radio, dish = connected_pair(:RADIO, :DISH, transport: :inproc,
      bind_options: {xpub_no_drop: true, send_hwm: 1}, connect_options: {recv_hwm: 1})
    dish.join("a")
    tune(radio, dish, "a")
    [[client, server, {}], [server, client, {routing_id: id}], [radio, dish, {group: "a"}]]
      .each do |sender, receiver, address|
      count = 0
      count += 1 while sender.send(count.to_s, timeout: 0, exception: false, **address)
      assert_operator count, :>=, 1, sender.inspect
      waiting = waiting_on(sender) { sender.send("last", timeout: 5, **address) }
      assert_equal [*Array.new(count, &:to_s), "last"], take(receiver, count + 1)
      assert_same sender, waiting.value
    end
  end

  test "peers are counted" do
    gather = open_socket(:GATHER).bind(endpoint_for(:tcp))
    scatters = Array.new(2) { open_socket(:SCATTER).connect(gather.last_endpoint) }
    assert_same gather, gather.wait_connected(count: 2, timeout: 5)
    scatters.each { |scatter| scatter.wait_connected(timeout: 5) << "x" }
    assert_equal %w[x x], take(gather, 2)
    server, client = connected_pair(:SERVER, :CLIENT, count_peers: true)
    [server, client].each { |socket| assert_same socket, socket.wait_connected(timeout: 5) }
    assert_flows(client, server)
    assert_named(Godwit::StateError, /count_peers: true/) do
      open_socket(:CHANNEL).wait_connected(timeout: 1)
    end
  end

  test "a bind lets a DGRAM that waits send" do
    dgram = open_socket(:DGRAM)
    other = UDPSocket.new.tap { |socket| socket.bind("127.0.0.1", 0) }
    waiting =
      in_thread { dgram.send(["127.0.0.1:#{other.local_address.ip_port}", "x"], timeout: 5) }
    until_waiting(dgram)
    dgram.bind("udp://127.0.0.1:#{udp_port}")
    assert_same dgram, waiting.value
    assert other.wait_readable(5)
    assert_equal "x", other.recv(10)
  ensure
    other&.close
  end

  Godwit::TestSupport::WaitEndings.test(
    self, %w[CLIENT SERVER DISH GATHER PEER CHANNEL DGRAM], %w[CLIENT]
  )

  # @return [Call] a `recv` of a socket that has no peer
  def prepare(type)
    @home = own(Godwit::Context.new(linger: 0))
    socket = own(Godwit.const_get(type).new(context: @home))
    Call.new(type, socket, socket, ->(receiver) { receiver.recv })
  end

  test "one of two waiters is killed as messages arrive, and none is lost" do
    server, client, id = server_and_client
    20.times do
      got = Queue.new
      killed, other = Array.new(2) do
        in_thread do
          Thread.handle_interrupt(Object => :on_blocking) { got << client.recv(timeout: 5) }
        end
      end
      until_waiting(client, 2)
      server.send_many(%w[a b], routing_id: id)
      killed.kill
      [killed, other].each(&:join)
      left = (got.size < 2) ? [client.recv(timeout: 5)] : []
      assert_equal %w[a b], (Array.new(got.size) { got.pop } + left).sort
    end
  end

  test "many threads share a CLIENT and a SERVER" do
    server, client, = server_and_client
    servers = Array.new(4) do
      in_thread do
        loop { server.recv_from.then { |id, message| server.send(message, routing_id: id) } }
      end
    end
    got = Queue.new
    receivers = Array.new(4) { in_thread { 250.times { got << client.recv(timeout: 10) } } }
    senders = Array.new(4) { |t| in_thread { 250.times { |i| client << "#{t} #{i}" } } }
    (senders + receivers).each(&:join)
    assert_equal Array.new(4) { |t| Array.new(250) { |i| "#{t} #{i}" } }.flatten.sort,
      Array.new(got.size) { got.pop }.sort
    server.close
    servers.each { |thread| assert_raises(Godwit::ClosedError) { thread.value } }
  end

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
      assert_equal [server], poller.wait(30).map(&:object) # the message is still queued
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
