# frozen_string_literal: true

# libzmq: test_connect_resolve

require "test_helper"
require "uri"
require_relative "assertions"

# Bad endpoints: each is refused by name and with the fix, and leaves the socket unchanged.
class EndpointErrorsTest < Godwit::TestCase
  include Conformance::Assertions

  # A pair with a message in transit: it must still arrive after the block has used either socket.
  def unharmed(transport = :tcp)
    pull, push = connected_pair(:PULL, :PUSH, transport: transport)
    push << "accepted before"
    before = [pull, push].map(&:endpoints)
    yield pull, push
    assert_equal before, [pull, push].map(&:endpoints)
    assert_equal "accepted before", pull.recv(timeout: 5)
    assert_flows(push, pull)
  end

  def assert_refused(klass, says, endpoint, *operations)
    unharmed do |pull, push|
      operations = %i[bind connect unbind disconnect] if operations.empty?
      operations.product([pull, push]).each do |operation, socket|
        error =
          assert_named(klass, says, operation: operation) do
            socket.public_send(operation, endpoint)
          end
        assert_equal endpoint, error.endpoint
        assert_includes error.message, endpoint
        assert_kind_of klass.superclass, error
        refute_predicate error, :retriable? unless klass == Godwit::AddressInUseError
      end
    end
  end

  test "a zero byte within" do
    unharmed do |pull|
      assert_named(Godwit::EndpointError, /Malformed endpoint/) { pull.bind("inproc://a\0b") }
      assert_named(Godwit::EndpointError, /Malformed endpoint/) { pull.bind("ipc://a\0b") }
    end
  end

  test "unknown transport" do
    assert_refused Godwit::ProtocolError,
      /no transport is called pigeon; here are tcp, ipc, inproc/,
      "pigeon://loft:1"
  end

  test "a transport that this libzmq was not built with" do
    missing = %w[pgm norm vmci tipc ws].find { |transport| !Godwit.has?(transport) }
    skip "this libzmq has every transport" unless missing
    assert_refused Godwit::ProtocolError, /built without #{missing}/, "#{missing}://127.0.0.1:5555"
  end

  test "a transport that does not fit the type" do
    unharmed do |pull|
      assert_named(Godwit::IncompatibleProtocolError, /use tcp:/, operation: :bind) do
        pull.bind("udp://127.0.0.1:5555")
      end
    end
  end

  test "a port that another program has" do
    server = TCPServer.new("127.0.0.1", 0)
    assert_refused Godwit::AddressInUseError,
      /use another port, or \*/,
      "tcp://127.0.0.1:#{server.local_address.ip_port}",
      :bind
  ensure
    server&.close
  end

  # libzmq removes an existing file (which may be a dead process's) and makes a new one.
  test "an ipc path in use is taken over: new peers reach the second socket, earlier peers stay " \
    "with the first" do
    endpoint = endpoint_for(:ipc_file)
    first = open_socket(:PULL).bind(endpoint)
    early = open_socket(:PUSH).connect(endpoint)
    assert_flows(early, first)
    second = open_socket(:PULL).bind(endpoint)
    assert_flows(open_socket(:PUSH).connect(endpoint), second)
    assert_flows(early, first)
  end

  test "an address of another machine" do
    # 192.0.2.0/24 belongs to no machine (RFC 5737)
    assert_refused Godwit::AddressNotAvailableError,
      /address of this machine, or to \*/,
      "tcp://192.0.2.1:5555",
      :bind
  end

  test "a host name, of this machine or of none" do
    names = %w[tcp://no.such.host.invalid:5555 tcp://eth99:*]
    # libzmq 4.3.5 takes localhost, and no other name.
    if Gem::Version.new(Godwit.libzmq_version) < Gem::Version.new("4.3.5")
      names << "tcp://localhost:5555"
    end
    names.each do |bad|
      assert_refused Godwit::InterfaceError, /accepts \*, an IP address/, bad, :bind
    end
  end

  test "an ipc path that is too long" do
    unharmed do |pull, push|
      bad = "ipc:///#{"x" * 200}"
      {bind: pull, connect: push}.each do |operation, socket|
        assert_system_error(Errno::ENAMETOOLONG, /about 100 bytes/, operation: operation) do
          socket.public_send(operation, bad)
        end
      end
    end
  end

  test "an ipc path in a folder that is not there" do
    unharmed do |pull|
      assert_system_error(Errno::ENOENT, /does not exist; create it first/, operation: :bind) do
        pull.bind("ipc://#{scratch_dir}/none/x")
      end
      File.write("#{scratch_dir}/file", "")
      assert_system_error(Errno::ENOTDIR, /not a folder/, operation: :bind) do
        pull.bind("ipc://#{scratch_dir}/file/x")
      end
    end
  end

  # Root may write anywhere: the child drops root.
  test "an ipc path that may not be written" do
    not_on :jruby, "JRuby cannot change its user"
    File.chmod(0o555, scratch_dir)
    result = run_child(<<~RUBY, [scratch_dir])
      require "godwit"
      Process::UID.change_privilege(65_534) if Process.uid.zero?
      pull = Godwit::PULL.bind("inproc://x")
      push = Godwit::PUSH.connect("inproc://x") << "accepted before"
      begin
        pull.bind("ipc://\#{ARGV[0]}/socket")
      rescue Godwit::AccessError => error
        puts [
               error.class,
               Errno::EACCES === error,
               error.operation,
               error.message,
               pull.recv,
               pull.endpoints
             ].inspect
      end
    RUBY
    assert_child result
    assert_match(
      Regexp.new('\[Godwit::AccessError, true, :bind, ".*may not write in the folder.*", ' \
        '"accepted before", \["inproc://x"\]\]'),
      result.stdout
    )
  ensure
    File.chmod(0o755, scratch_dir)
  end

  test "an endpoint that is no String" do
    unharmed do |pull|
      [nil, 5555, :tcp, ["tcp://127.0.0.1:*"], URI("tcp://127.0.0.1:5555")].each do |what|
        %i[bind connect unbind disconnect].each do |operation|
          error = assert_raises(TypeError, what.inspect) { pull.public_send(operation, what) }
          assert_kind_of Godwit::Error, error
          assert_match(/#{operation}: an endpoint is a String.*#{what.class}/, error.message)
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
