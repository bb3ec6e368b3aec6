# frozen_string_literal: true

require "test_helper"
require_relative "counting"
require_relative "shim/shim"

# A socket that connects over inproc to a name which no socket has bound yet.
class EarlyInprocTest < Godwit::TestCase
  include Godwit::TestSupport::Counting

  PRELUDE = "require 'godwit'"

  test "a closed socket that sent nothing, or has linger 0, leaves no descriptor behind" do
    endpoint = endpoint_for(:inproc)
    open_socket(:PUSH).connect(endpoint).close
    before = descriptors
    100.times { |i| open_socket(:PUSH, linger: [5, 0, nil][i % 3]).connect(endpoint).close }
    100.times { open_socket(:PUSH, linger: 0).connect(endpoint).send("lost").close }
    assert eventually("#{descriptors - before} are left") { descriptors <= before + 4 }
    pull = open_socket(:PULL).bind(endpoint)
    open_socket(:PUSH).connect(endpoint) << "kept"
    assert_equal "kept", pull.recv(timeout: 5)
  end

  test "with linger a socket that binds later receives a closed socket's messages" do
    endpoint = endpoint_for(:inproc)
    open_socket(:PUSH, linger: nil).connect(endpoint).send(%w[a b]).close
    pull = open_socket(:PULL).bind(endpoint)
    assert_equal %w[a b], pull.recv_multipart(timeout: 5)
    assert_equal [endpoint, endpoint], [pull.last_endpoint, pull.get(:last_endpoint)]
  end

  test "a closed socket's messages are dropped when its linger has passed" do
    endpoint = endpoint_for(:inproc)
    open_socket(:PUSH).connect(endpoint).close
    before = descriptors
    50.times { open_socket(:PUSH, linger: 0.01).connect(endpoint).send("late").close }
    over = monotonic + 0.02
    assert(eventually("more than #{before} descriptors are left") do
      all_over = monotonic > over
      # Each connect also ends the connections of closed sockets whose linger is over.
      open_socket(:PUSH).connect(endpoint).close
      all_over && descriptors <= before + 2
    end)
    assert_equal :wait_readable, open_socket(:PULL).bind(endpoint).recv_nonblock(exception: false)
  end

  test "abandoned requests leave no descriptor, and a server that binds later gets none of them" do
    endpoint = endpoint_for(:inproc)
    req = open_socket(:REQ).connect(endpoint)
    assert_raises(Godwit::TimeoutError) { req.request("stale", timeout: 0.001) }
    before = descriptors
    assert_raises(Godwit::TimeoutError) { req.request("stale", timeout: 0.001, retries: 50) }
    assert eventually("#{descriptors - before} are left") { descriptors <= before + 2 }
    rep = open_socket(:REP).bind(endpoint)
    assert_equal :wait_readable, rep.recv_nonblock(exception: false)
    in_thread { rep.serve(&:upcase) }
    assert_equal "FRESH", req.request("fresh", timeout: 5)
  end

  test "a main thread beside another leaves no descriptor of its waits" do
    queue = Thread::Queue.new
    in_thread { queue.pop } # while another thread exists, the main thread waits on an IO
    req = open_socket(:REQ).connect(endpoint_for(:inproc))
    assert_raises(Godwit::TimeoutError) { req.request("given up", timeout: 0.001) }
    pull = open_socket(:PULL).bind(endpoint_for(:tcp))
    before = descriptors
    GC.disable # the collector would close the descriptors too
    assert_raises(Godwit::TimeoutError) { req.request("given up", timeout: 0.001, retries: 20) }
    20.times do
      assert_raises(Godwit::TimeoutError) { pull.recv(timeout: 0.001) }
      pull.close
      pull = open_socket(:PULL).bind(endpoint_for(:tcp))
    end
    assert eventually("descriptors of #{before} and more are left") { descriptors <= before + 2 }
  ensure
    queue.close
    GC.enable
  end

  %i[ROUTER REP].each do |type|
    test "a #{type} that disconnected before the name was bound does not abort the process" do
      assert_done <<~RUBY
        early = Godwit::#{type}.connect("inproc://x")
        early.disconnect("inproc://x")
        early.recv_nonblock(exception: false)
        dealer = Godwit::DEALER.bind("inproc://x")
        early.connect("inproc://x")
        dealer.send(["", "again"])
        abort "no message" unless early.recv_multipart(timeout: 5)&.last == "again"
      RUBY
    end

    test "a PAIR that binds a name on which two #{type}s wait does not abort the process, and " \
      "takes neither" do
      assert_done <<~RUBY
        early = Array.new(2) { Godwit::#{type}.connect("inproc://x") }
        Godwit::PAIR.bind("inproc://x") { |pair| pair.recv_nonblock(exception: false) }
        dealer = nil
        begin
          dealer = Godwit::DEALER.bind("inproc://x")
        rescue Godwit::AddressInUseError # libzmq ends the PAIR a moment later
          retry
        end
        2.times { |i| dealer.send(["", i.to_s]) }
        seen = early.map { |socket| socket.recv_multipart(timeout: 5).last }
        abort seen.inspect unless seen == %w[0 1]
      RUBY
    end
  end

  test "a bind while the name's last owner ends takes the sockets that wait, or finds it in use" do
    assert_done(<<~RUBY, env: Godwit::TestSupport::Shim.windows(bind: 3_000))
      20.times do |i|
        push = Godwit::PUSH.connect("inproc://\#{i}")
        pair = Godwit::PAIR.bind("inproc://\#{i}")
        pull, *others = Array.new(21) { Godwit::PULL.new }
        [*others, pair].each(&:close) # libzmq ends one after the other
        begin
          pull.bind("inproc://\#{i}")
        rescue Godwit::AddressInUseError
          retry
        end
        push.send(i.to_s)
        abort "not connected" unless pull.recv(timeout: 5) == i.to_s
      end
    RUBY
  end

  test "clients may come while a socket connects to the name of an absent authenticator" do
    assert_done(<<~RUBY, env: Godwit::TestSupport::Shim.windows(bound: 3_000))
      server = Godwit::REP.bind("tcp://127.0.0.1:*", plain_server: true, zap_domain: "x")
      stop = false
      early = Thread.new { Godwit::DEALER.connect("inproc://zeromq.zap.01") {} until stop }
      10.times do
        Godwit::DEALER.connect(server.last_endpoint, plain: %w[a b], count_peers: true) do |client|
          client.wait_connected(timeout: 0.1)
        rescue Godwit::TimeoutError
          nil # no authenticator
        end
      end
      stop = true
      early.join
    RUBY
  end

  test "a PAIR takes the first of two that wait" do
    endpoint = endpoint_for(:inproc)
    first, = Array.new(2) { open_socket(:PAIR).connect(endpoint) }
    first << "first"
    assert_equal "first", open_socket(:PAIR).bind(endpoint).recv(timeout: 5)
  end

  test "all that wait are connected, in order, and disconnect by the name that they know" do
    endpoint = endpoint_for(:inproc)
    dealers = Array.new(3) { open_socket(:DEALER).connect(endpoint) }
    dealers.each_with_index { |dealer, i| dealer << i.to_s }
    assert_equal [endpoint], dealers.map { |dealer| dealer.get(:last_endpoint) }.uniq
    router = open_socket(:ROUTER, mandatory: true).bind(endpoint)
    seen = Array.new(3) { router.recv_multipart(timeout: 5) }
    assert_equal %w[0 1 2], seen.map(&:last)
    dealers[1].disconnect(endpoint)
    assert(eventually do
      router.send([seen[1].first, "x"]) && false
    rescue Godwit::UnreachableError
      true
    end)
    router.send([seen[2].first, "reply"])
    assert_equal "reply", dealers[2].recv(timeout: 5)
  end

  test "with few descriptors the process ends well" do
    result = assert_done(<<~RUBY)
      Process.setrlimit(:NOFILE, 256, Process.getrlimit(:NOFILE).last)
      sockets = []
      begin
        400.times { sockets << Godwit::PUSH.connect("inproc://nobody", linger: nil).send("x") }
      rescue SystemCallError, Godwit::Error => error
        puts error.class
      end
      sockets.each(&:close)
    RUBY
    assert_match(/EMFILE|TooMany/, result.stdout)
  end
end
