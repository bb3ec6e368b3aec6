# frozen_string_literal: true

# libzmq: test_connect_resolve

require "uri"
require_relative "case"

# Endpoints that the system refuses, beside plain/endpoints.rb: each error has the fix, and the
# socket is unchanged.
class EndpointErrorsTest < Conformance::Case
  # A pair with a message in transit: it must still arrive after the block has used either socket.
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

  test "a zero byte within" do
    unharmed do |pull|
      assert_named(Godwit::EndpointError, /Malformed endpoint/) { pull.bind("inproc://a\0b") }
      assert_named(Godwit::EndpointError, /Malformed endpoint/) { pull.bind("ipc://a\0b") }
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

  # Root may write anywhere: the child drops root.
  test "an ipc path that may not be written" do
    not_on :jruby, "JRuby cannot change its user"
    File.chmod(0o555, scratch_dir)
    result = assert_child run_child(<<~RUBY, [scratch_dir])
      require "godwit"
      Process::UID.change_privilege(65_534) if Process.uid.zero?
      begin
        Godwit::PULL.bind("ipc://\#{ARGV[0]}/socket")
      rescue Godwit::AccessError => error
        p Errno::EACCES === error, error.operation, error.message
      end
    RUBY
    assert_match(/\Atrue\n:bind\n".*may not write in the folder/, result.stdout)
  ensure
    File.chmod(0o755, scratch_dir)
  end

  test "an object that converts to a String is no endpoint, for any call" do
    pull = open_socket(:PULL)
    %i[bind connect unbind disconnect].each do |operation|
      assert_named(Godwit::EndpointTypeError, /#{operation}: an endpoint is a String.*URI/) do
        pull.public_send(operation, URI("tcp://127.0.0.1:5555"))
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
