# frozen_string_literal: true

require "support/ports"
require_relative "rbczmq_case"

class RbczmqEndpointsTest < Godwit::RbczmqCase
  def service(priority, weight, port)
    Resolv::DNS::Resource::IN::SRV.new(
      priority, weight, port, Resolv::DNS::Name.create("127.0.0.1")
    )
  end

  # Makes ZMQ.resolver return these addresses, or raise the error.
  # @yieldparam asked [Array] the names that the resolver was called with
  def resolving(*answers)
    asked = []
    resolver = Object.new
    resolver.define_singleton_method(:getresources) do |*question|
      asked << question
      answers.first.is_a?(Exception) ? raise(answers.first) : answers
    end
    ZMQ.stub(:resolver, resolver) { yield asked }
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
    [spot, "ipc://@#{Godwit::TestSupport::Sockets.unique_name}", "tcp://127.0.0.1:0"]
      .each { |endpoint| assert_equal 0, other.bind(endpoint), endpoint }
    assert_match(%r{\Atcp://127.0.0.1:[1-9]\d+\z}, other.last_endpoint)
    free = Godwit::TestSupport::Ports.free
    assert_equal free, ctx.socket(:REP).bind("tcp://127.0.0.1:#{free}")
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
    req = ctx.socket(:REQ)
    list.each { |one| req.connect(one) }
    assert_equal "REQ socket connected to tcp://127.0.0.1:#{port}, #{endpoint}", req.to_s
    assert_equal 0, rep.bind("tcp://127.0.0.1:0")
    assert_equal rep.last_endpoint, list.last
    refute_includes rep.to_s, ":0"
  end

  test "unbind and disconnect" do
    endpoint = spot
    rep = ctx.socket(:REP)
    assert_equal ZMQ::Socket::PENDING, rep.state
    rep.bind(endpoint)
    rep.bind("tcp://127.0.0.1:*")
    req = ctx.connect(:REQ, endpoint)
    assert_equal [ZMQ::Socket::BOUND, ZMQ::Socket::CONNECTED], [rep.state, req.state]
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

  test "unknown endpoints" do
    rep, req = pair(:REP, :REQ)
    assert_refused Errno::ENOENT, -> { rep.unbind("inproc://elsewhere") },
      -> { req.disconnect("tcp://127.0.0.1:1") }
    assert_refused Errno::EINVAL, -> { rep.unbind("bad uri") }, -> { req.disconnect("bad uri") }
    assert_raise TypeError, -> { rep.unbind(nil) }, -> { req.disconnect(:x) }
    assert_equal [1, 1], [rep.endpoints.size, req.endpoints.size]
  end

  test "bad endpoints" do
    rep = ctx.socket(:REP)
    req = ctx.socket(:REQ)
    assert_refused Errno::EINVAL, -> { rep.bind("bad uri") }, -> { req.connect("bad uri") },
      -> { rep.real_bind("bad uri") }, -> { req.real_connect("bad uri") }
    assert_equal true, ctx.socket(:PULL).real_connect("tcp://127.0.0.1:1")
    assert_raise TypeError, -> { rep.bind(nil) }, -> { req.connect(5555) },
      -> { req.connect_all(5555) }
    assert_equal [[ZMQ::Socket::PENDING, []]] * 2,
      [rep, req].map { |one| [one.state, one.endpoints] }
  end

  test "bind twice" do
    rep = ctx.bind(:REP, endpoint = spot)
    error = assert_refused(Errno::EADDRINUSE) { ctx.socket(:REP).bind(endpoint) }
    assert_kind_of Godwit::Error, error.cause
    assert_equal Errno::EADDRINUSE::Errno, ZMQ.errno
    assert_equal ZMQ::Socket::BOUND, rep.state
  end

  test "PROTO_REXP matches strings that are no service name" do
    matching = %w[inproc://a tcp://a:1 ipc:///a pgm://a epgm://a my.tcp.service ipc]
    assert_equal matching,
      [*matching, "udp://a:1", "bad uri", "collector.example.org"].grep(ZMQ::Socket::PROTO_REXP)
  end

  test "the best of a service's records" do
    pull = ctx.socket(:PULL)
    port = pull.bind("tcp://127.0.0.1:*")
    push = ctx.socket(:PUSH)
    resolving(service(2, 9, 1), service(1, 5, 2), service(1, 7, port)) do |asked|
      assert_equal true, push.connect("collector.example.org")
      assert_equal [["_collector._tcp.example.org", Resolv::DNS::Resource::IN::SRV]], asked
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
      resolving(*answers) do |asked|
        assert_refused(Errno::EINVAL) { push.connect("collector.example.org") }
        assert_equal 1, asked.size
      end
    end
  end

  test "a string that cannot be a service name is not looked up" do
    push = ctx.socket(:PUSH)
    resolving(service(1, 1, 1)) do |asked|
      ["bad uri", "udp://127.0.0.1:5", "nodots", "inproc://x"].each do |uri|
        printed { push.connect(uri) }
      rescue SystemCallError
        next
      end
      assert_empty asked
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
