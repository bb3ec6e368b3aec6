# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqEndpointsTest < Godwit::RbczmqCase
  under_gc_stress

  # A name server's answers.
  class Resolver
    attr_reader :asked

    def initialize(answers)
      @answers = answers
      @asked = []
    end

    def getresources(spot, kind)
      @asked << [spot, kind]
      raise @answers if @answers.is_a?(Exception)
      @answers
    end
  end

  def service(priority, weight, port)
    Resolv::DNS::Resource::IN::SRV.new(
      priority, weight, port, Resolv::DNS::Name.create("127.0.0.1")
    )
  end

  # Makes ZMQ.resolver return these.
  def resolving(*answers)
    resolver = Resolver.new(answers.first.is_a?(Exception) ? answers.first : answers)
    ZMQ.stub(:resolver, resolver) { yield resolver }
  end

  test "bind gives the port" do
    rep = ctx.socket(:REP)
    port = rep.bind("tcp://127.0.0.1:*")
    assert_includes 49_152..65_535, port
    TCPSocket.new("127.0.0.1", port).close
    other = ctx.socket(:REP)
    assert_equal other.last_endpoint, ""
    second = other.bind("tcp://127.0.0.1:*")
    refute_equal port, second
    assert_equal "tcp://127.0.0.1:#{second}", other.last_endpoint
    assert_equal 0, other.bind(spot)
    assert_equal 0, other.bind("ipc://@#{Godwit::TestSupport::Sockets.unique_name}")
    assert_equal 0, other.bind("tcp://127.0.0.1:0")
    assert_match(%r{\Atcp://127.0.0.1:[1-9]\d+\z}, other.last_endpoint)
    other.close
    free = ctx.socket(:REP)
    free.reconnect_ivl = 100
    asked = 61_000.step(65_535, 7).find do |number| # above the ports that the system assigns
      assert_equal number, free.bind("tcp://127.0.0.1:#{number}")
    rescue Errno::EADDRINUSE
      false
    end
    assert asked, "no port was free"
  end

  test "a ROUTER without endpoints is writable, with router_mandatory too" do
    router = ctx.socket(:ROUTER)
    router.router_mandatory = true
    assert_equal 2, router.events
  end

  test "endpoints are kept as given, with the port that was bound, in one live Array" do
    rep = ctx.socket(:REP)
    list = rep.endpoints
    assert_equal [], list
    assert_nil rep.endpoint
    port = rep.bind("tcp://127.0.0.1:*")
    rep.bind(endpoint = spot)
    assert_same list, rep.endpoints
    assert_equal ["tcp://127.0.0.1:#{port}", endpoint], list
    assert_equal "tcp://127.0.0.1:#{port}", rep.endpoint
    assert_equal "REP socket bound to tcp://127.0.0.1:#{port}, #{endpoint}", rep.to_s
    assert_equal 0, rep.bind("tcp://127.0.0.1:0")
    assert_equal rep.last_endpoint, list.last
    refute_includes rep.to_s, ":0"
  end

  test "unbind and disconnect" do
    endpoint = spot
    rep = ctx.socket(:REP)
    rep.bind(endpoint)
    rep.bind("tcp://127.0.0.1:*")
    req = ctx.connect(:REQ, endpoint)
    assert_equal true, rep.unbind("tcp://127.0.0.1:*")
    assert_equal [[endpoint], ZMQ::Socket::BOUND], [rep.endpoints, rep.state]
    assert_equal true, rep.unbind(endpoint)
    assert_equal [[], ZMQ::Socket::DISCONNECTED], [rep.endpoints, rep.state]
    assert_equal true, req.disconnect(endpoint)
    assert_equal [[], ZMQ::Socket::DISCONNECTED], [req.endpoints, req.state]
    assert_equal "REQ socket", req.to_s
    assert_misuse(/only send on a bound or connected/) { req.send("x") }
    rep.bind(other = spot)
    req.connect(other)
    assert_equal [true, "again"], [req.send("again"), rep.recv]
  end

  test "unbind and disconnect of unknown endpoints" do
    rep, req = pair(:REP, :REQ)
    assert_refused(Errno::ENOENT) { rep.unbind("inproc://elsewhere") }
    assert_refused(Errno::ENOENT) { req.disconnect("tcp://127.0.0.1:1") }
    assert_refused(Errno::EINVAL) { rep.unbind("bad uri") }
    assert_refused(Errno::EINVAL) { req.disconnect("bad uri") }
    assert_equal [1, 1], [rep.endpoints.size, req.endpoints.size]
    assert_raises(TypeError) { rep.unbind(nil) }
    assert_raises(TypeError) { req.disconnect(:x) }
  end

  test "bad endpoints" do
    rep = ctx.socket(:REP)
    req = ctx.socket(:REQ)
    assert_refused(Errno::EINVAL) { rep.bind("bad uri") }
    assert_refused(Errno::EINVAL) { req.connect("bad uri") }
    assert_refused(Errno::EINVAL) { rep.real_bind("bad uri") }
    assert_equal true, ctx.socket(:PULL).real_connect("tcp://127.0.0.1:1")
    assert_refused(Errno::EINVAL) { req.real_connect("bad uri") }
    assert_raises(TypeError) { rep.bind(nil) }
    assert_raises(TypeError) { req.connect(5555) }
    assert_raises(TypeError) { req.connect_all(5555) }
    assert_equal [ZMQ::Socket::PENDING] * 2, [rep.state, req.state]
    assert_equal [[], []], [rep.endpoints, req.endpoints]
  end

  test "bind twice" do
    rep = ctx.bind(:REP, endpoint = spot)
    error = assert_refused(Errno::EADDRINUSE) { ctx.socket(:REP).bind(endpoint) }
    assert_kind_of Godwit::Error, error.cause
    assert_equal Errno::EADDRINUSE::Errno, ZMQ.errno
    assert_equal ZMQ::Socket::BOUND, rep.state
  end

  test "PROTO_REXP matches strings that are no service name" do
    %w[inproc://a tcp://a:1 ipc:///a pgm://a epgm://a my.tcp.service ipc].each do |uri|
      assert_match ZMQ::Socket::PROTO_REXP, uri
    end
    ["udp://a:1", "bad uri", "collector.example.org"].each do |uri|
      refute_match ZMQ::Socket::PROTO_REXP, uri
    end
  end

  test "the best of a service's records" do
    pull = ctx.socket(:PULL)
    port = pull.bind("tcp://127.0.0.1:*")
    push = ctx.socket(:PUSH)
    resolving(service(2, 9, 1), service(1, 5, 2), service(1, 7, port)) do |resolver|
      assert_equal true, push.connect("collector.example.org")
      assert_equal [["_collector._tcp.example.org", Resolv::DNS::Resource::IN::SRV]], resolver.asked
    end
    assert_equal ["tcp://127.0.0.1:#{port}"], push.endpoints
    push.send("found")
    assert_equal "found", pull.recv
    free = pull.bind("tcp://127.0.0.1:*")
    pull.unbind("tcp://127.0.0.1:#{free}")
    bound = ctx.socket(:PULL)
    resolving(service(1, 1, 0)) { assert_equal 0, bound.bind("collector.example.org") }
  end

  test "an unknown name goes to libzmq, which refuses it" do
    push = ctx.socket(:PUSH)
    [[], [Resolv::ResolvError.new("no")], [Errno::ECONNREFUSED.new]].each do |answers|
      resolving(*answers) { |resolver|
        assert_refused(Errno::EINVAL) { push.connect("collector.example.org") }
        assert_equal 1, resolver.asked.size
      }
    end
  end

  test "a string that cannot be a service name is not looked up" do
    push = ctx.socket(:PUSH)
    resolving(service(1, 1, 1)) do |resolver|
      ["bad uri", "udp://127.0.0.1:5", "nodots", "inproc://x"].each do |uri|
        printed { push.connect(uri) }
      rescue SystemCallError
        next
      end
      assert_empty resolver.asked
    end
  end

  test "connect_all" do
    pulls = Array.new(2) { ctx.socket(:PULL) }
    ports = pulls.map { |pull| pull.bind("tcp://127.0.0.1:*") }
    push = ctx.socket(:PUSH)
    resolving(*ports.map { |port| service(1, 1, port) }) do
      assert_same push, push.connect_all("collector.example.org")
    end
    assert_equal ports.map { |port| "tcp://127.0.0.1:#{port}" }, push.endpoints
    assert_nil push.connect_all(pulls.first.last_endpoint)
    resolving { assert_refused(Errno::EINVAL) { push.connect_all("collector.example.org") } }
    assert_equal 3, push.endpoints.size
  end
end
