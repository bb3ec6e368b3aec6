# frozen_string_literal: true

require "support/draft_pairs"

# The tests that draft_test.rb runs on a libzmq with drafts: each type in both directions, and wrong
# uses.
module DraftScenarios
  extend DraftPairs::Naming
  include DraftPairs

  each_transport("CLIENT and SERVER ask and answer") do |transport|
    server, client, id = server_and_client(transport)
    assert_kind_of Integer, id
    assert_same server, server.send("a", routing_id: id)
    assert_equal "a", client.recv(timeout: 5)
    2.times { |i| client << i.to_s }
    assert_equal [[id, "0"], [id, "1"]], Array.new(2) { server.recv_from(timeout: 5) }
    server.send_many(%w[x y z], routing_id: id)
    assert_equal %w[x y z], take(client, 3)
  end

  each_transport("RADIO and DISH go by groups") do |transport|
    radio, dish = radio_and_dish(transport, "weather", "sport")
    radio.send("rain", group: "weather").send("lost", group: "politics")
      .send("goal", group: "sport")
    assert_equal [%w[weather rain], %w[sport goal]],
      Array.new(2) { dish.recv_with_group(timeout: 5) }
    assert_equal %w[weather sport], dish.groups
    dish.leave("weather")
    assert_equal %w[sport], dish.groups
    radio.send("fog", group: "weather").send_many(%w[1 2], group: "sport")
    assert_equal %w[1 2], take(dish, 2)
  end

  test "RADIO and DISH over udp" do
    endpoint = "udp://127.0.0.1:#{udp_port}"
    dish = own(Godwit::DISH.bind(endpoint, context: context, join: ["a", "b" * 127]))
    radio = open_socket(:RADIO).connect(endpoint)
    assert_equal [endpoint, endpoint], [dish.last_endpoint, radio.last_endpoint]
    tune(radio, dish, "a")
    largest = "x" * (8192 - 1 - 127)
    radio.send(largest, group: "b" * 127)
    assert_equal ["b" * 127, largest], dish.recv_with_group(timeout: 5)
    radio.disconnect(endpoint)
    assert_empty radio.endpoints
    assert_named(Godwit::UnsupportedError, /close the socket/, operation: :unbind) do
      dish.unbind(endpoint)
    end
    assert_equal [endpoint], dish.endpoints
  end

  test "a message that is too large for udp never reaches libzmq" do
    endpoint = "udp://127.0.0.1:#{udp_port}"
    radio = open_socket(:RADIO)
    radio.send("x" * 100_000, group: "tcp takes it")
    radio.connect(endpoint)
    assert_system_error(Errno::EMSGSIZE, /8192 bytes/, operation: :send) do
      radio.send("x" * 8191, group: "a")
    end
    assert_system_error(Errno::ENAMETOOLONG, /shorter/, operation: :send) do
      radio.send("x", group: "a" * 128)
    end
    dgram = open_socket(:DGRAM).bind("udp://127.0.0.1:#{udp_port}")
    [-> { dgram << ["127.0.0.1:9", "x" * 8193] },
      -> { dgram.send_many([["127.0.0.1:9", "x" * 8193]]) }].each do |call|
      assert_match(/8192 bytes/, assert_raises(Errno::EMSGSIZE, &call).message)
    end
  end

  each_transport("SCATTER and GATHER") do |transport|
    gather, scatter = connected_pair(:GATHER, :SCATTER, transport: transport)
    scatter << "a" << ["b"]
    scatter.send_many(%w[c d])
    assert_equal %w[a b c d], take(gather, 4)
    assert_named(Godwit::UnsupportedError, /only receives/) { gather << "x" }
    assert_named(Godwit::UnsupportedError, /only sends/) { scatter.recv(timeout: 0) }
  end

  each_transport("CHANNEL in both directions") do |transport|
    a, b = connected_pair(:CHANNEL, :CHANNEL, transport: transport)
    a << "to b"
    b << "to a"
    assert_equal ["to a", "to b"], [a.recv(timeout: 5), b.recv(timeout: 5)]
    a.send_many(Array.new(100, &:to_s))
    assert_equal Array.new(100, &:to_s),
      b.recv_many(100, timeout: 5).then { |got| got + take(b, 100 - got.size) }
  end

  each_transport("PEER writes first to the peer it connected to") do |transport|
    bound = open_socket(:PEER).bind(endpoint_for(transport))
    peer = open_socket(:PEER)
    number = peer.connect_peer(bound.last_endpoint)
    assert_equal [bound.last_endpoint], peer.endpoints
    peer.send("hello", routing_id: number)
    from, message = bound.recv_from(timeout: 5)
    assert_equal "hello", message
    bound.send("welcome", routing_id: from)
    assert_equal [number, "welcome"], peer.recv_from(timeout: 5)
  end

  each_transport("hello and goodbye of a SERVER") do |transport|
    server, client = connected_pair(:SERVER, :CLIENT, transport: transport,
      bind_options: {hello_message: "welcome", disconnect_message: "gone"},
      connect_options: {hello_message: "here I am"})
    assert_equal "welcome", client.recv(timeout: 5)
    id, greeting = server.recv_from(timeout: 5)
    assert_equal "here I am", greeting
    client.close
    assert_equal [id, "gone"], server.recv_from(timeout: 5)
    assert_named(Godwit::UnreachableError, /has gone/) do
      eventually { server.send("x", routing_id: id) && false }
    end
  end

  test "a ROUTER reports the peers that connect and disconnect" do
    router, dealer = connected_pair(:ROUTER, :DEALER,
      bind_options: {router_notify: %i[connect disconnect]}, connect_options: {routing_id: "d"})
    assert_equal ["d", ""], router.recv(timeout: 5)
    dealer.close
    assert_equal ["d", ""], router.recv(timeout: 5)
  end

  test "format: with a routing id, a group or an address beside the value" do
    server, client = connected_pair(:SERVER, :CLIENT, format: :json)
    client << {n: 1}
    id, value = server.recv_from(timeout: 5)
    assert_equal({n: 1}, value)
    server.send([nil], routing_id: id)
    assert_equal [nil], client.recv(timeout: 5)
    assert_nil server.recv_from(timeout: 0, exception: false)
    radio, dish = connected_pair(:RADIO, :DISH, transport: :inproc, format: :json)
    dish.join("g")
    pair = eventually do
      radio.send({n: 2}, group: "g")
      dish.recv_with_group(timeout: 0.05, exception: false)
    end
    assert_equal ["g", {n: 2}], pair
    one, other = Array.new(2) do
      open_socket(:DGRAM, format: :json).bind("udp://127.0.0.1:#{udp_port}")
    end
    _, value = eventually do
      one << [other.last_endpoint.delete_prefix("udp://"), {n: 3}]
      other.recv(timeout: 0.05, exception: false)
    end
    assert_equal({n: 3}, value)
  end

  # ---- wrong uses ----

  test "messages of several frames are refused before libzmq sees them" do
    server, client, id = server_and_client
    refused = {
      client => [:CLIENT, {}], server => [:SERVER, {routing_id: id}],
      open_socket(:RADIO) => [:RADIO, {group: "a"}], open_socket(:SCATTER) => [:SCATTER, {}],
      open_socket(:CHANNEL) => [:CHANNEL, {}]
    }
    refused.each do |socket, (type, address)|
      assert_named(
        Godwit::MessageError, /a #{type}'s message has one frame: got 2/, operation: :send
      ) { socket.send(%w[a b], **address) }
      assert_named(Godwit::MessageError, /one frame/, operation: :send_many) do
        socket.send_many([%w[a b]], **address)
      end
      assert_named(Godwit::MessageError, /not empty/, operation: :send) do
        socket.send([], **address)
      end
      assert_named(Godwit::MessageTypeError, /got Symbol/, operation: :send) do
        socket.send(:a, **address)
      end
    end
    assert_flows(client, server)
  end

  test "a send without a routing id raises an error that names the fix" do
    server, _, id = server_and_client
    [-> { server << "x" }, -> { server.send("x") }, -> { server.send_many(["x"]) },
      -> { server.send_nonblock("x") }].each do |call|
      assert_named(Godwit::RoutingIdError, /send\(message, routing_id: number\)/, &call)
    end
    [nil, 0, -1, 1 << 32, "1"].each do |bad|
      assert_named(Godwit::RoutingIdError, /number of a peer/) { server.send("x", routing_id: bad) }
    end
    assert_named(Godwit::UnreachableError, /has gone, or never was/, operation: :send) do
      server.send("x", routing_id: (id == 7) ? 8 : 7)
    end
    assert_named(Godwit::RoutingIdError, /connect_peer/) { open_socket(:PEER) << "x" }
    assert_named(Godwit::GroupError, /group: "name"/) { open_socket(:RADIO) << "x" }
  end

  test "groups that cannot be" do
    dish = open_socket(:DISH, join: %w[a b])
    assert_named(Godwit::GroupError, /join a group once/, operation: :join) { dish.join("a") }
    assert_named(Godwit::GroupError, /groups lists them/, operation: :leave) { dish.leave("c") }
    assert_named(Godwit::GroupError, /255 bytes/) { dish.join("x" * 256) }
    assert_named(Godwit::GroupError, /NUL/) { dish.join("x\0y") }
    assert_named(Godwit::ArgumentTypeError, /a String/) { dish.join(:a) }
    assert_named(Godwit::GroupError, /255 bytes/) do
      open_socket(:RADIO).send("x", group: "x" * 256)
    end
    assert_equal %w[a b], dish.groups
    dish.join("x" * 255).close
    assert_named(Godwit::ClosedError, /./, operation: :join) { dish.join("d") }
    assert_named(Godwit::GroupError, /join a group once/) do
      Godwit::DISH.new(context: context, join: %w[a a])
    end
  end

  test "connect_peer wants a peer at once" do
    assert_named(Godwit::OptionError, /immediate: false/) do
      open_socket(:PEER, immediate: true).connect_peer("tcp://127.0.0.1:9")
    end
    assert_named(Godwit::EndpointError, /transport:/) { open_socket(:PEER).connect_peer("nowhere") }
  end

  test "datagrams that cannot be" do
    dgram = open_socket(:DGRAM).bind("udp://127.0.0.1:#{udp_port}")
    ["x", ["x"], %w[127.0.0.1:9 a b]].each do |message|
      assert_named(Godwit::MessageError, /Array of address and body/) { dgram << message }
    end
    %w[localhost:9 127.0.0.1 127.0.0.1:0 127.0.0.1:65536 127.0.0.256:9].each do |address|
      assert_named(Godwit::MessageError, /IPv4 address with its port/) { dgram << [address, "x"] }
    end
    assert_named(Godwit::EndpointError, /number of a port/) { dgram.bind("udp://127.0.0.1:*") }
    assert_named(Godwit::IncompatibleProtocolError, /RADIO, DISH and DGRAM/) do
      dgram.connect("udp://127.0.0.1:9")
    end
  end
end
