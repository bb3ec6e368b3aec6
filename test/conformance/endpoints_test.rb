# frozen_string_literal: true

# libzmq: test_abstract_ipc, test_bind_after_connect_tcp, test_bind_src_address, test_inproc_connect
# libzmq: test_ipc_wildcard
# libzmq: test_term_endpoint, test_unbind_wildcard

require "test_helper"
require_relative "assertions"

class EndpointsTest < Godwit::TestCase
  include Conformance::Assertions

  def assert_joined(bound, connected)
    assert_flows(connected, bound, "up")
    assert_flows(bound, connected, "down")
  end

  test "port is that of the tcp endpoint last bound" do
    dealer = open_socket(:DEALER).bind("tcp://127.0.0.1:*", "tcp://127.0.0.1:*")
    last = dealer.port
    dealer.bind(endpoint_for(:inproc)).connect("tcp://127.0.0.1:#{free_port}")
    assert_equal last, dealer.port
    assert_nil open_socket(:DEALER).bind(endpoint_for(:ipc)).port
  end

  test "a port out of a range: the first that is free" do
    first = Godwit::TestSupport::Ports.free(4)
    range = first..first + 3
    sockets = Array.new(4) { open_socket(:DEALER).bind("tcp://127.0.0.1:*", ports: range) }
    assert_equal range.to_a, sockets.map(&:port)
    assert_equal "tcp://127.0.0.1:#{first}", sockets.first.last_endpoint
    late = open_socket(:DEALER)
    error =
      assert_named(Godwit::AddressInUseError, /no port of #{range} is free/, operation: :bind) do
        late.bind("tcp://127.0.0.1:*", ports: range)
      end
    assert_kind_of Errno::EADDRINUSE, error
    assert_equal "tcp://127.0.0.1:*", error.endpoint
    assert_empty late.endpoints
    assert_joined late.bind("tcp://127.0.0.1:*"), open_socket(:DEALER).connect(late.last_endpoint)
    assert_raises(Godwit::AddressInUseError) do
      Godwit::DEALER.bind("tcp://127.0.0.1:*", ports: range, context: context)
    end
  end

  test "several transports at once" do
    pull =
      open_socket(:PULL).bind(
        *Godwit::TestSupport::Sockets::TRANSPORTS.map { |transport| endpoint_for(transport) }
      )
    pull.endpoints.each do |endpoint|
      assert_flows(open_socket(:PUSH).connect(endpoint), pull, "by #{endpoint}")
    end
    push = open_socket(:PUSH).connect(*pull.endpoints)
    6.times { |i| push << i.to_s }
    assert_equal %w[0 1 2 3 4 5], take(pull, 6).sort
  end

  each_transport("unbind by the name given or resolved: no new peer can connect") do |transport|
    %i[given resolved].each do |name|
      given = (transport == :tcp) ? "tcp://#{own_host}:*" : endpoint_for(transport)
      dealer = open_socket(:DEALER).bind(given)
      resolved = dealer.last_endpoint
      assert_same dealer, dealer.unbind({given: given, resolved: resolved}.fetch(name))
      assert_empty dealer.endpoints
      assert_nil dealer.last_endpoint
      # The name is free again once libzmq has released it.
      again = open_socket(:DEALER)
      eventually do
        again.bind(resolved) && true
      rescue
        Errno::EADDRINUSE && false
      end # standard:disable Style/RescueModifier
      assert_joined again, open_socket(:DEALER).connect(resolved)
    end
  end

  each_transport("disconnect ends both of two connections to one endpoint") do |transport|
    pull = open_socket(:PULL).bind(endpoint_for(transport))
    push = open_socket(:PUSH).connect(pull.last_endpoint, pull.last_endpoint)
    push.disconnect(pull.last_endpoint)
    assert_equal [], push.endpoints
    refute_predicate push, :writable?
    assert_named(Godwit::NoEndpointError, /endpoints lists/) { push.disconnect(pull.last_endpoint) }
    assert_flows(push.connect(pull.last_endpoint), pull)
  end

  test "ipc by abstract name, by path, by wildcard" do
    skip "abstract names are Linux's" unless LINUX
    path = "ipc://#{scratch_dir}/socket"
    [endpoint_for(:ipc), path].each do |endpoint|
      dealer = open_socket(:DEALER).bind(endpoint)
      assert_equal endpoint, dealer.last_endpoint
      assert_joined dealer, open_socket(:DEALER).connect(endpoint)
    end
    assert File.socket?(path.delete_prefix("ipc://"))
    Dir.chdir(scratch_dir) do # libzmq makes a folder here, or in TMPDIR
      dealer = open_socket(:DEALER).bind("ipc://*")
      refute_includes dealer.last_endpoint, "*"
      assert_joined dealer, open_socket(:DEALER).connect(dealer.last_endpoint)
      dealer.close
    end
  end

  def skip_without_ipv6
    TCPServer.new("::1", 0).close
  rescue SystemCallError => error
    skip "this machine has no IPv6 on ::1 (#{error.message})"
  end

  test "IPv6" do
    skip_without_ipv6
    dealer = open_socket(:DEALER, ipv6: true).bind("tcp://[::1]:*")
    assert_equal "tcp://[::1]:#{dealer.port}", dealer.last_endpoint
    assert_joined dealer, open_socket(:DEALER, ipv6: true).connect(dealer.last_endpoint)
    Godwit::Context.new(ipv6: true, linger: 0) do |six|
      six.socket(:DEALER) do |other|
        assert_joined other.bind("tcp://[::1]:*"),
          open_socket(:DEALER, ipv6: true).connect(other.last_endpoint)
      end
    end
  end

  test "an IPv4 address written as IPv6 needs no ipv6: true" do
    skip_without_ipv6
    ["::ffff:127.0.0.1", "::FFFF:7f00:1"].each do |host|
      bound = open_socket(:DEALER).bind("tcp://127.0.0.1:*")
      assert_joined bound, open_socket(:DEALER).connect("tcp://[#{host}]:#{bound.port}")
    end
    ["::ffff:1:2:3", "::ffff:1"].each do |host|
      assert_named(Godwit::InterfaceError, /ipv6: true/, operation: :connect) do
        open_socket(:DEALER).connect("tcp://[#{host}]:5555")
      end
    end
  end

  test "an interface by name" do
    skip "only Linux calls its loopback lo" unless LINUX
    assert_equal "tcp://127.0.0.1",
      open_socket(:DEALER).bind("tcp://lo:*").last_endpoint[/\A.*(?=:)/]
  end

  test "a source address" do
    stream = open_socket(:STREAM)
    server = TCPServer.new("127.0.0.1", 0)
    source = free_port
    stream.connect("tcp://127.0.0.1:#{source};127.0.0.1:#{server.local_address.ip_port}")
    peer = server.accept
    assert_equal source, peer.remote_address.ip_port
    bound = open_socket(:DEALER).bind(endpoint_for(:tcp))
    assert_joined bound, open_socket(:DEALER).connect("tcp://127.0.0.1:0;127.0.0.1:#{bound.port}")
  ensure
    [peer, server].compact.each(&:close)
  end

  each_transport("connect before bind") do |transport|
    endpoint = (transport == :tcp) ? "tcp://127.0.0.1:#{free_port}" : endpoint_for(transport)
    push = open_socket(:PUSH, reconnect_interval: 0.01).connect(endpoint)
    push << "early"
    pull = open_socket(:PULL).bind(endpoint)
    assert_equal "early", pull.recv(timeout: 5)
  end
end
