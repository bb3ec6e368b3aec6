# frozen_string_literal: true

# libzmq: test_abstract_ipc, test_bind_src_address, test_ipc_wildcard, test_term_endpoint
# libzmq: test_unbind_wildcard

require_relative "case"

# Endpoints that mruby's scenarios (plain/endpoints.rb) do not have.
class EndpointsTest < Conformance::Case
  def assert_joined(bound, connected)
    assert_flows(connected, bound, "up")
    assert_flows(bound, connected, "down")
  end

  test "a port out of a range: the first that is free" do
    first = Godwit::TestSupport::Ports.free(4)
    range = first..first + 3
    sockets = Array.new(4) { open_socket(:DEALER).bind("tcp://127.0.0.1:*", ports: range) }
    assert_equal range.to_a, sockets.map(&:port)
    late = open_socket(:DEALER)
    error =
      assert_named(Godwit::AddressInUseError, /no port of #{range} is free/, operation: :bind) do
        late.bind("tcp://127.0.0.1:*", ports: range)
      end
    assert_equal "tcp://127.0.0.1:*", error.endpoint
    assert_empty late.endpoints
    assert_joined late.bind("tcp://127.0.0.1:*"), open_socket(:DEALER).connect(late.last_endpoint)
    assert_raises(Godwit::AddressInUseError) do
      Godwit::DEALER.bind("tcp://127.0.0.1:*", ports: range, context: context)
    end
  end

  test "several transports at once; port is that of the tcp endpoint last bound" do
    pull = open_socket(:PULL).bind(
      *Godwit::TestSupport::Sockets::TRANSPORTS.map { |transport| endpoint_for(transport) }
    )
    pull.endpoints.each do |endpoint|
      assert_flows(open_socket(:PUSH).connect(endpoint), pull, "by #{endpoint}")
    end
    port = pull.bind("tcp://127.0.0.1:*").port
    assert_equal port, pull.bind(endpoint_for(:inproc)).port
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

  test "IPv6, and an IPv4 address written as IPv6" do
    begin
      TCPServer.new("::1", 0).close
    rescue SystemCallError => error
      skip "this machine has no IPv6 on ::1 (#{error.message})"
    end
    dealer = open_socket(:DEALER, ipv6: true).bind("tcp://[::1]:*")
    assert_equal "tcp://[::1]:#{dealer.port}", dealer.last_endpoint
    assert_joined dealer, open_socket(:DEALER, ipv6: true).connect(dealer.last_endpoint)
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

  test "an interface by name, and a source address" do
    assert_equal "tcp://127.0.0.1",
      open_socket(:DEALER).bind("tcp://lo:*").last_endpoint[/\A.*(?=:)/]
    bound = open_socket(:DEALER).bind(endpoint_for(:tcp))
    assert_joined bound, open_socket(:DEALER).connect("tcp://127.0.0.1:0;127.0.0.1:#{bound.port}")
  end
end
