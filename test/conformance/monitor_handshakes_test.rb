# frozen_string_literal: true

# libzmq: test_security_zap, test_stream_timeout

require "socket"
require_relative "case"
require_relative "monitored"

# Failed handshakes, as a Monitor reports them.
class MonitorHandshakesTest < Conformance::Case
  include Conformance::Monitored

  test "a client with a wrong server key" do
    skip "this libzmq has no CURVE" unless Godwit.has?(:curve)
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
    # The client learns only that the connection broke, and tries again.
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
      # Then the client gets no reply, and waits.
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

  # A PULL whose block accepts or refuses PLAIN clients.
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
