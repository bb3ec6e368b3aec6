# frozen_string_literal: true

require "support/draft_pairs"

# Draft types on a libzmq with drafts: each type in both directions, and wrong uses.
class DraftScenariosTest < Conformance::Case
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
    {
      client => {}, server => {routing_id: id}, open_socket(:RADIO) => {group: "a"},
      open_socket(:SCATTER) => {}, open_socket(:CHANNEL) => {}
    }.each do |socket, address|
      several, type = Godwit::MessageError, Godwit::MessageTypeError
      says = /a #{socket.type}'s message has one frame: got 2/
      assert_mistakes(
        -> { socket.send(%w[a b], **address) } => [several, says, :send],
        -> { socket.send_many([%w[a b]], **address) } => [several, /one frame/, :send_many],
        -> { socket.send([], **address) } => [several, /not empty/, :send],
        -> { socket.send(:a, **address) } => [type, /got Symbol/, :send]
      )
    end
    assert_mistakes(
      -> { client.send([Godwit::Frame.new("a"), "b"]) } => [Godwit::MessageError, /one frame/],
      -> { client.send(Godwit::Message.new("a", "b")) } => [Godwit::MessageError, /one frame/],
      -> { open_socket(:CLIENT).send_frame("a", more: true).send_frame("b") } =>
        [Godwit::MessageError, /one frame/]
    )
    assert_flows(client, server)
  end

  test "a send without a routing id or a group raises an error that names the fix" do
    server, _, id = server_and_client
    [-> { server << "x" }, -> { server.send("x") }, -> { server.send_many(["x"]) },
      -> { server.send_nonblock("x") }, -> { server.send(Godwit::Frame.new("a")) }].each do |call|
      assert_named(Godwit::RoutingIdError, /send\(message, routing_id: number\)/, &call)
    end
    [nil, 0, -1, 1 << 32, "1"].each do |bad|
      assert_named(Godwit::RoutingIdError, /number of a peer/) { server.send("x", routing_id: bad) }
    end
    radio = open_socket(:RADIO)
    assert_mistakes(
      -> { server.send("x", routing_id: (id == 7) ? 8 : 7) } =>
        [Godwit::UnreachableError, /has gone, or never was/, :send],
      -> { open_socket(:PEER) << "x" } => [Godwit::RoutingIdError, /connect_peer/],
      -> { radio << "x" } => [Godwit::GroupError, /group: "name"/],
      -> { radio.send(Godwit::Message.new("a")) } => [Godwit::GroupError, /group/]
    )
  end

  test "groups that cannot be" do
    dish = open_socket(:DISH, join: %w[a b])
    group = Godwit::GroupError
    assert_mistakes(
      -> { dish.join("a") } => [group, /join a group once/, :join],
      -> { dish.leave("c") } => [group, /groups lists them/, :leave],
      -> { dish.join("x" * 256) } => [group, /255 bytes/],
      -> { dish.join("x\0y") } => [group, /NUL/],
      -> { dish.join(:a) } => [Godwit::ArgumentTypeError, /a String/],
      -> { open_socket(:RADIO).send("x", group: "x" * 256) } => [group, /255 bytes/],
      -> { Godwit::DISH.new(context: context, join: %w[a a]) } => [group, /join a group once/]
    )
    assert_equal %w[a b], dish.groups
    dish.join("x" * 255).close
    assert_named(Godwit::ClosedError, /./, operation: :join) { dish.join("d") }
  end

  test "connect_peer wants a peer at once" do
    assert_mistakes(
      -> { open_socket(:PEER, immediate: true).connect_peer("tcp://127.0.0.1:9") } =>
        [Godwit::OptionError, /immediate: false/],
      -> { open_socket(:PEER).connect_peer("nowhere") } => [Godwit::EndpointError, /transport:/]
    )
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
