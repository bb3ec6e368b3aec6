# frozen_string_literal: true

# libzmq: test_abstract_ipc, test_bind_src_address, test_connect_resolve, test_ipc_wildcard
# libzmq: test_term_endpoint, test_unbind_wildcard

require_relative "case"

# Endpoints that plain/endpoints.rb does not test, and endpoints that the system refuses. Each error
# names the fix, and leaves the socket unchanged.
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
    path = "ipc://#{scratch_dir}/socket"
    [endpoint_for(:ipc), path].each do |endpoint|
      dealer = open_socket(:DEALER).bind(endpoint)
      assert_equal endpoint, dealer.last_endpoint
      assert_joined dealer, open_socket(:DEALER).connect(endpoint)
    end
    assert File.socket?(path.delete_prefix("ipc://"))
    Dir.chdir(scratch_dir) do # libzmq creates a folder in the working directory, or in TMPDIR
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

  # Yields a pair that has a message in transit. The message must still arrive after the block.
  def unharmed
    pull, push = connected_pair(:PULL, :PUSH)
    push << "accepted before"
    before = [pull, push].map(&:endpoints)
    yield pull, push
    assert_equal before, [pull, push].map(&:endpoints)
    assert_equal "accepted before", pull.recv(timeout: 5)
  end

  def assert_refused(klass, says, endpoint, operation = :bind)
    unharmed do |pull|
      error = assert_named(klass, says, operation: operation) do
        pull.public_send(operation, endpoint)
      end
      assert_equal endpoint, error.endpoint
      assert_includes error.message, endpoint
      refute_predicate error, :retriable?
    end
  end

  test "a transport that this libzmq was not built with, or that does not fit the type" do
    missing = %w[pgm norm vmci tipc ws].find { |transport| !Godwit.has?(transport) }
    %i[bind connect unbind disconnect].each do |operation|
      next unless missing
      assert_refused Godwit::ProtocolError, /built without #{missing}/,
        "#{missing}://127.0.0.1:5555", operation
    end
    assert_refused Godwit::IncompatibleProtocolError, /use tcp:/, "udp://127.0.0.1:5555"
  end

  test "an address of another machine, a host name" do
    # 192.0.2.0/24 belongs to no machine (RFC 5737)
    assert_refused Godwit::AddressNotAvailableError, /address of this machine, or to \*/,
      "tcp://192.0.2.1:5555"
    %w[tcp://no.such.host.invalid:5555 tcp://eth99:*].each do |bad|
      assert_refused Godwit::InterfaceError, /accepts \*, an IP address/, bad
    end
  end

  test "an ipc path that is too long, or in a folder that is not there" do
    File.write("#{scratch_dir}/file", "")
    unharmed do |pull, push|
      [[pull, :bind, "/#{"x" * 200}", Errno::ENAMETOOLONG, /about 100 bytes/],
        [push, :connect, "/#{"x" * 200}", Errno::ENAMETOOLONG, /about 100 bytes/],
        [pull, :bind, "#{scratch_dir}/none/x", Errno::ENOENT, /does not exist; create it first/],
        [pull, :bind, "#{scratch_dir}/file/x", Errno::ENOTDIR, /not a folder/]]
        .each do |socket, operation, path, error, says|
        assert_system_error(error, says, operation: operation) do
          socket.public_send(operation, "ipc://#{path}")
        end
      end
    end
  end

  test "of several endpoints those before the bad one stay bound or connected" do
    dealer = open_socket(:DEALER)
    assert_raises(Godwit::EndpointError) do
      dealer.bind("tcp://127.0.0.1:*", "nonsense", "tcp://127.0.0.1:*")
    end
    assert_equal ["tcp://127.0.0.1:#{dealer.port}"], dealer.endpoints
    assert_flows(open_socket(:DEALER).connect(dealer.last_endpoint), dealer)
  end
end
