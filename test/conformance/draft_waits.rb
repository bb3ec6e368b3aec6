# frozen_string_literal: true

require "support/draft_pairs"

# The tests that draft_test.rb runs on a libzmq with drafts: waits and their endings.
module DraftWaits
  extend DraftPairs::Naming
  include DraftPairs

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

  test "a waiting receiver gets messages repeatedly" do
    server, client, id = server_and_client
    echo =
      in_thread do
        50.times do
          server.recv_from.then { |from, message| server.send(message, routing_id: from) }
        end
      end
    50.times do |i|
      client << i.to_s
      assert_equal i.to_s, client.recv(timeout: 5)
    end
    echo.join
    assert_operator id, :>, 0
  end

  test "a sender waits for room, and resumes when there is some" do
    server, client, id =
      server_and_client(
        :inproc,
        bind_options: {
          send_hwm: 1, recv_hwm: 1
        },
        connect_options: {
          send_hwm: 1, recv_hwm: 1
        }
      )
    {client => [{}, -> { server.recv(timeout: 5) }],
     server => [{routing_id: id},
       -> { client.recv(timeout: 5) }]}.each do |sender, (address, receive)|
      count = 0
      count += 1 while sender.send(count.to_s, timeout: 0, exception: false, **address)
      assert_operator count, :>=, 1
      waiting = in_thread { sender.send("last", timeout: 5, **address) }
      until_waiting(sender)
      assert_equal [*Array.new(count, &:to_s), "last"], Array.new(count + 1) { receive.call }
      waiting.join
    end
  end

  # On JRuby libzmq itself would hang in it, if the two shared no lock (libzmq#3048).
  test "senders and receivers of a full CHANNEL wake one another" do
    a, b = connected_pair(:CHANNEL, :CHANNEL, transport: :inproc, send_hwm: 1, recv_hwm: 1)
    both = [[a, b], [b, a]].flat_map do |from, to|
      [
        in_thread { 1000.times { |i| from.send(i.to_s, timeout: 10) } },
        in_thread { Array.new(1000) { to.recv(timeout: 10) } }
      ]
    end
    assert_equal [Array.new(1000, &:to_s)] * 2, both.map(&:value).values_at(1, 3)
  end

  test "a RADIO that drops nothing waits for its DISH" do
    radio, dish =
      connected_pair(
        :RADIO,
        :DISH,
        transport: :inproc,
        bind_options: {
          xpub_no_drop: true, send_hwm: 1
        },
        connect_options: {
          recv_hwm: 1
        }
      )
    dish.join("a")
    tune(radio, dish, "a")
    count = 0
    count += 1 while radio.send(count.to_s, group: "a", timeout: 0, exception: false)
    waiting = in_thread { radio.send("last", group: "a", timeout: 5) }
    until_waiting(radio)
    assert_equal [*Array.new(count, &:to_s), "last"], take(dish, count + 1)
    assert_same radio, waiting.value
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

  %i[CLIENT SERVER DISH GATHER PEER CHANNEL DGRAM].each do |type|
    test "a #{type} that waits ends by kill, close and shutdown" do
      endings = {
        kill: ->(_, thread) { thread.kill }, close: ->(socket, _) { socket.close },
        shutdown: ->(socket, _) { socket.context.shutdown }
      }
      endings.each do |how, ending|
        socket = own(Godwit.const_get(type).new(context: own(Godwit::Context.new)))
        threads = Array.new(2) { in_thread { socket.recv } }
        until_waiting(socket, 2)
        threads.each { |thread| ending.call(socket, thread) }
        outcomes =
          threads.map do |thread|
            ended(thread).class
          rescue
            $!.class
          end # standard:disable Style/RescueModifier
        expected = {
          kill: NilClass, close: Godwit::ClosedError, shutdown: Godwit::ContextTerminatedError
        }.fetch(how)
        assert_equal [expected] * 2, outcomes, how.to_s
      end
    end
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

  test "fibers share sockets" do
    a, b = connected_pair(:CHANNEL, :CHANNEL)
    got = []
    Godwit::TestSupport::TinyScheduler.thread do
      3.times { Fiber.schedule { 100.times { got << a.recv(timeout: 5) } } }
      Fiber.schedule { 300.times { |i| b << i.to_s } }
      Fiber.schedule { assert_raises(Godwit::TimeoutError) { b.recv(timeout: 0.01) } }
    end.join
    assert_equal Array.new(300, &:to_s).sort, got.sort
  end

  test "in a child process inherited sockets say so" do
    result = assert_child run_child(<<~RUBY)
      require "godwit"
      server = Godwit::SERVER.bind("tcp://127.0.0.1:*")
      client = Godwit::CLIENT.connect(server.last_endpoint) << "a"
      id, = server.recv_from(timeout: 5)
      child = fork do
        [
          -> { client.recv }, -> { server.recv_from }, -> { server.send("x", routing_id: id) },
          -> { client.close }
        ].each do |call|
          call.call
        rescue Godwit::ForkedError
          print "forked "
        end
        inner = Godwit::SERVER.bind("inproc://x")
        Godwit::CLIENT.connect("inproc://x") << "fresh"
        print inner.recv(timeout: 5)
      end
      Process.wait(child)
      server.send("still here", routing_id: id)
      print " ", client.recv(timeout: 5)
    RUBY
    assert_equal "forked forked forked forked fresh still here", result.stdout
  end

  test "unclosed sockets are garbage-collected" do
    leaks_allowed!
    200.times { Godwit::CLIENT.new(context: context) }
    GC.start
    assert_equal "x",
      connected_pair(:CHANNEL, :CHANNEL).then { |a, b| (a << "x") && b.recv(timeout: 5) }
  end
end
