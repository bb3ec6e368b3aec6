# frozen_string_literal: true

# libzmq: test_monitor, test_security_zap, test_stream_timeout

require "socket"
require_relative "case"
require_relative "monitored"

# Each event of libzmq that this machine can cause, including failed handshakes, and the methods
# that read events.
class MonitorTest < Conformance::Case
  include Conformance::Monitored

  each_transport("both sides report a connection's start and end", only: %i[tcp ipc
    ipc_file]) do |transport|
    pull, ours = monitored(:PULL)
    push, theirs = monitored(:PUSH)
    pull.bind(endpoint_for(transport))
    endpoint = pull.last_endpoint
    push.connect(endpoint)
    assert_flows(push, pull)
    push.close
    reported = until_event(ours, :disconnected)
    assert_equal %i[listening accepted handshake_succeeded disconnected], reported.map(&:name)
    assert_equal [endpoint], reported.map(&:endpoint).uniq
    assert_equal reported[1].fd, reported.last.fd
    assert(reported.all?(Godwit::Monitor::Event))
    reported = theirs.to_a.reject { |event| event.name == :connect_delayed }
    assert_equal %i[connected handshake_succeeded monitor_stopped], reported.map(&:name)
    assert_equal [endpoint, endpoint, ""], reported.map(&:endpoint)
    assert_nil reported.last.error
  end

  test "a failed bind raises its own error and is reported, and a later bind works" do
    taken = open_socket(:PULL).bind(endpoint_for(:tcp)).last_endpoint
    pull, monitor = monitored(:PULL)
    {
      taken => Errno::EADDRINUSE, "tcp://192.0.2.1:4567" => Errno::EADDRNOTAVAIL,
      "tcp://no-interface:4567" => Errno::ENODEV, "ipc://#{scratch_dir}/none/name" => Errno::ENOENT
    }.each do |endpoint, error|
      raised = assert_raises(error, endpoint) { pull.bind(endpoint) }
      assert_kind_of Godwit::Error, raised
      event = until_event(monitor, :bind_failed).last
      assert_equal endpoint, event.endpoint
      assert_equal error::Errno, event.value
      assert_instance_of error, event.error
      assert_equal error.new.message, event.reason
      assert_predicate event, :failure?
    end
    pull.bind(endpoint_for(:tcp))
    assert_equal pull.last_endpoint, until_event(monitor, :listening).last.endpoint
  end

  test "only the requested events" do
    pull = open_socket(:PULL)
    all = own_monitor(pull.monitor)
    some = own_monitor(pull.monitor(:accepted, :disconnected))
    same = own_monitor(pull.monitor([:accepted], :accepted))
    pull.bind(endpoint_for(:tcp))
    open_socket(:PUSH).connect(pull.last_endpoint).tap { |push| assert_flows(push, pull) }.close
    until_event(all, :disconnected)
    assert_equal %i[accepted disconnected], Array.new(2) { some.next_event(timeout: 5).name }
    assert_equal :accepted, same.next_event(timeout: 5).name
    [same, some].each { |one| assert_equal :wait_readable, one.recv_nonblock(exception: false) }
  end

  test "waiting for an event, or not" do
    pull, monitor = monitored(:PULL)
    assert_nil monitor.next_event(timeout: 0.02, exception: false)
    assert_nil monitor.recv(timeout: 0, exception: false)
    assert_mistakes(
      -> { monitor.next_event(timeout: 0.02) } =>
        [Godwit::TimeoutError, /nothing happened/, :next_event],
      -> { monitor.recv_nonblock } => [Godwit::EAGAINWaitReadable, /next_event/, :recv_nonblock]
    )
    assert_equal :wait_readable, monitor.recv_nonblock(exception: false)
    waiting = waiting_on(monitor) { monitor.next_event }
    pull.bind(endpoint_for(:tcp))
    assert_equal :listening, waiting.value.name
    pull.bind(endpoint_for(:tcp))
    assert_equal :listening, monitor.recv_nonblock.name
  end

  test "a late reader gets the newest events, and the number of dropped events" do
    pull = open_socket(:PULL)
    monitor, boundless = own_monitor(pull.monitor(limit: 3)), own_monitor(pull.monitor(limit: nil))
    5.times { pull.bind(endpoint_for(:tcp)) }
    assert_equal pull.endpoints, Array.new(5) { boundless.next_event(timeout: 5).endpoint }
    assert_equal pull.endpoints.last(3), Array.new(3) { monitor.next_event(timeout: 5).endpoint }
    assert_equal :wait_readable, monitor.recv_nonblock(exception: false)
    assert_equal 2, monitor.dropped
    assert_equal 0, boundless.dropped
  end

  test "arguments that are not allowed" do
    pull = open_socket(:PULL)
    monitor = own_monitor(pull.monitor)
    value, type = Godwit::ArgumentValueError, Godwit::ArgumentTypeError
    [0, -1, 1.5, "1", 1 << 62].each do |limit|
      assert_named(value, /limit:/) { pull.monitor(limit: limit) }
    end
    assert_mistakes(
      -> { pull.monitor(:conected) } => [value, /:connected, .*got :conected/, :monitor],
      -> { Godwit::Monitor.new(:socket) } => [type, /Godwit::Socket/],
      -> { monitor.send(:initialize, pull) } => [Godwit::StateError, /makes another/],
      -> { monitor.next_event(timeout: -1) } => [value, /timeout/],
      -> { monitor.next_event(timeout: "1") } => [type, /timeout/],
      -> { monitor.dup } => [Godwit::UnsupportedError, /makes another/],
      -> { pull.on_event } => [value, /block/, :on_event],
      -> { pull.on_event(on_error: 1) { flunk } } => [type, /on_error:/],
      -> { Godwit::Monitor.allocate.next_event } => [Godwit::ClosedError, //]
    )
    assert_predicate Godwit::Monitor.allocate, :closed?
  end

  test "it continues with a REQ that request recreates" do
    silent = open_socket(:REP).bind(endpoint_for(:tcp))
    req, monitor = monitored(:REQ)
    req.connect(silent.last_endpoint)
    reported = until_event(monitor, :handshake_succeeded).map(&:name)
    assert_raises(Godwit::TimeoutError) { req.request("1", timeout: 0.2) }
    reported += until_event(monitor, :handshake_succeeded).map(&:name)
    assert_equal 2, reported.count(:connected)
    refute_includes reported, :monitor_stopped
    waiting = waiting_on(monitor) { monitor.select { |event| event.name == :monitor_stopped } }
    assert_raises(Godwit::TimeoutError) { req.request("2", timeout: 0.2) }
    refute monitor.closed?
    req.close
    assert_equal 1, waiting.value.size
  end

  test "wait_connected works beside a monitor, and continues when the monitor stops" do
    push, monitor = monitored(:PUSH)
    push.bind(endpoint_for(:tcp))
    late = own_monitor(push.monitor(:accepted))
    pull = open_socket(:PULL).connect(push.last_endpoint)
    waiting = in_thread { push.wait_connected(count: 2, timeout: 5) }
    assert_equal %i[listening accepted handshake_succeeded],
      until_event(monitor, :handshake_succeeded).map(&:name)
    open_socket(:PULL).connect(push.last_endpoint)
    assert_same push, waiting.value
    push.send("x", timeout: 5)
    assert_named(Godwit::StateError, /before any send or recv/) { push.wait_connected }
    pull.close
    until_event(monitor, :disconnected)
    2.times { assert_equal :accepted, late.next_event(timeout: 5).name }
  end

  test "a monitor made after the peers came disturbs no count" do
    push = open_socket(:PUSH).bind(endpoint_for(:tcp))
    open_socket(:PULL).connect(push.last_endpoint)
    push.wait_connected(timeout: 5)
    waiting = waiting_on(push) { push.wait_connected(count: 3, timeout: 5) }
    monitor = own_monitor(push.monitor)
    2.times { open_socket(:PULL).connect(push.last_endpoint) }
    assert_same push, waiting.value
    reported = Array.new(4) { monitor.next_event(timeout: 5).name }
    assert_equal({accepted: 2, handshake_succeeded: 2}, reported.tally)
    monitor.close
    assert_same push, push.wait_connected(count: 3, timeout: 5)
  end

  test "a monitor made after the peers came hides none of them from wait_connected" do
    push = open_socket(:PUSH).bind(endpoint_for(:tcp))
    pull, theirs = monitored(:PULL)
    pull.connect(push.last_endpoint)
    until_event(theirs, :handshake_succeeded)
    # One I/O thread serves all sockets in order: when this message has arrived, that thread has
    # completed the PULL's handshake.
    assert_flows(*connected_pair(:DEALER, :DEALER))
    own_monitor(push.monitor)
    assert_same push, push.wait_connected(timeout: 30)
  end

  # ---- failed handshakes ----

  test "a client with a wrong server key" do
    keys, own_keys = Godwit::Curve.keypair, Godwit::Curve.keypair
    server, ours = monitored(:PULL, curve: keys)
    server.bind(endpoint_for(:tcp))
    client, theirs = monitored(:PUSH, curve: own_keys, server_key: own_keys.public_key, linger: 0)
    client.connect(server.last_endpoint)
    event = until_event(ours, :handshake_failed_protocol).last
    assert_equal :zmtp_cryptographic, event.protocol_error
    assert_match(/server_key/, event.to_s)
    assert_equal server.last_endpoint, event.endpoint
    assert_equal [:disconnected], until_event(ours, :disconnected).map(&:name)
    # The client sees only a broken connection, and reconnects.
    event = until_event(theirs, :handshake_failed_no_detail).last
    assert_kind_of SystemCallError, event.error
    assert_equal %i[disconnected connect_retried], until_event(theirs, :connect_retried).map(&:name)
  end

  {300 => /try again/, 400 => /refused/, 500 => /failed/}.each do |status, words|
    test "an authenticator that answers #{status}" do
      server, ours = guarded { |ask| ["1.0", ask[1], status.to_s, "", "", ""] }
      client, theirs = monitored(:PUSH, plain: %w[user secret], linger: 0)
      client.connect(server.last_endpoint)
      reported = [until_event(ours, :handshake_failed_auth).last]
      # After status 300 the client gets no reply, and waits.
      reported << until_event(theirs, :handshake_failed_auth).last unless status == 300
      reported.each do |event|
        assert_equal status, event.status
        assert_match words, event.reason
        assert_nil event.error
        assert_nil event.protocol_error
      end
    end
  end

  {
    zap_malformed_reply: ->(ask) { ["1.0", ask[1], "200"] },
    zap_bad_version: ->(ask) { ["2.0", ask[1], "200", "", "", ""] },
    zap_bad_request_id: ->(_) { ["1.0", "another", "200", "", "", ""] },
    zap_invalid_status_code: ->(ask) { ["1.0", ask[1], "201", "", "", ""] },
    zap_invalid_metadata: ->(ask) { ["1.0", ask[1], "200", "", "", "\x05half"] }
  }.each do |name, answer|
    test "an authenticator's mistake: #{name}" do
      server, ours = guarded(&answer)
      open_socket(:PUSH, plain: %w[user secret], linger: 0).connect(server.last_endpoint)
      event = until_event(ours, :handshake_failed_protocol).last
      assert_equal name, event.protocol_error
      assert_match(/authenticator/, event.reason)
    end
  end

  NULL = "\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL".b.ljust(64, "\0").freeze
  PLAIN = "\xff\0\0\0\0\0\0\0\x01\x7f\x03\0PLAIN".b.ljust(64, "\0").freeze

  {
    "an unknown command" => [NULL + "\x04\x06\x05OTHER", :zmtp_unexpected_command],
    "another mechanism" => [PLAIN + "\x04\x0d\x05HELLO\x03abc\x02de", :zmtp_mechanism_mismatch]
  }.each do |what, (bytes, name)|
    test "a stranger that sends #{what}" do
      server, monitor = monitored(:PULL)
      server.bind(endpoint_for(:tcp))
      stranger(server).write(bytes)
      event = until_event(monitor, :handshake_failed_protocol).last
      assert_equal name, event.protocol_error
      assert_kind_of String, event.reason
      assert_equal [:disconnected], until_event(monitor, :disconnected).map(&:name)
    end
  end

  test "a stranger that is silent for too long" do
    server, monitor = monitored(:PULL, handshake_timeout: 0.05)
    server.bind(endpoint_for(:tcp))
    stranger(server)
    reported = until_event(monitor, :disconnected).map(&:name)
    assert_equal %i[listening accepted handshake_failed_no_detail disconnected], reported
  end

  private

  # A PULL with PLAIN, and its Monitor. The block replies to ZAP requests about the clients.
  def guarded(&answer)
    guard = open_socket(:REP).bind("inproc://zeromq.zap.01")
    in_thread { guard.serve(&answer) }
    server, monitor = monitored(:PULL, plain_server: true, zap_domain: "test")
    [server.bind(endpoint_for(:tcp)), monitor]
  end

  def stranger(server)
    own(TCPSocket.new("127.0.0.1", server.port))
  end
end
