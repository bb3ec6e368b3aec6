# frozen_string_literal: true

module Godwit
  class Monitor
    # One kind of event: its bit in libzmq, the kind of its value, and its meaning.
    # @private
    Kind = Struct.new(:name, :bit, :value, :text)

    # The events of libzmq. The value is a descriptor (:fd), an errno (:errno), milliseconds
    # (:interval), a protocol error (:protocol), the status code of an authenticator (:status), the
    # number of waiting messages (:counts), or nothing. {file:docs/monitor.md} shows this table.
    # @private
    KINDS =
      [
        [:connected, :fd, "the socket has connected; the handshake follows"],
        [:connect_delayed, :errno, "a connection attempt is in progress"],
        [:connect_retried, :interval,
          "the connection attempt failed; the next try comes after the interval"],
        [:listening, :fd, "the socket is bound"],
        [:bind_failed, :errno, "the bind failed"],
        [:accepted, :fd, "a peer has connected; the handshake follows"],
        [:accept_failed, :errno, "a peer's connection was not accepted"],
        [:closed, :fd, "the socket is unbound, or a connection attempt has ended"],
        [:close_failed, :errno, "a descriptor could not be closed"],
        [:disconnected, :fd, "the connection has ended"],
        [:monitor_stopped, nil, "the socket was closed; no event follows"],
        [:handshake_failed_no_detail, :errno, "the connection ended during the handshake"],
        [:handshake_succeeded, nil, "the peer is accepted; messages can flow"],
        [:handshake_failed_protocol, :protocol,
          "the handshake was invalid, or its keys did not match"],
        [:handshake_failed_auth, :status, "the authenticator refused the peer"],
        [:pipes_stats, :counts,
          "how many messages wait in the pipes of a connection (libzmq with drafts)"]
      ].map do |name, value, text|
        Kind.new(name, Header.const_get("EVENT_#{name.upcase}"), value, text).freeze
      end.freeze

    # Names of all events.
    EVENTS = KINDS.map(&:name).freeze

    # Names of the events that report a failure.
    FAILURES = %i[
      connect_retried bind_failed accept_failed close_failed disconnected
      handshake_failed_no_detail handshake_failed_protocol handshake_failed_auth
    ].freeze

    # ZMQ_PROTOCOL_ERROR_… of zmq.h => [name, explanation].
    # @private
    PROTOCOL_ERRORS =
      {
        0x10000000 => [:zmtp_unspecified, "the peer broke the protocol"],
        0x10000001 => [
          :zmtp_unexpected_command,
          "the peer sent an unexpected command; maybe only one side uses CURVE or PLAIN"
        ],
        0x10000002 => [:zmtp_invalid_sequence, "the peer's commands arrived in a wrong order"],
        0x10000003 => [:zmtp_key_exchange, "the keys could not be exchanged"],
        0x10000011 => [:zmtp_malformed_command_unspecified,
          "the peer sent a malformed command; maybe the peer does not use ZeroMQ"],
        0x10000012 => [:zmtp_malformed_command_message, "the peer sent a malformed message"],
        0x10000013 => [:zmtp_malformed_command_hello, "the peer's HELLO is malformed"],
        0x10000014 => [:zmtp_malformed_command_initiate, "the peer's INITIATE is malformed"],
        0x10000015 => [:zmtp_malformed_command_error, "the peer's ERROR is malformed"],
        0x10000016 => [:zmtp_malformed_command_ready, "the peer's READY is malformed"],
        0x10000017 => [:zmtp_malformed_command_welcome, "the peer's WELCOME is malformed"],
        0x10000018 => [:zmtp_invalid_metadata,
          "the peer's properties are not allowed; maybe the socket types are incompatible"],
        0x11000001 => [:zmtp_cryptographic,
          "the keys do not match; maybe the client has a wrong server_key"],
        0x11000002 => [:zmtp_mechanism_mismatch,
          "the two sides use different security: NULL, PLAIN or CURVE"],
        0x20000000 => [:zap_unspecified, "the authenticator's answer could not be used"],
        0x20000001 => [:zap_malformed_reply, "the authenticator's answer is malformed"],
        0x20000002 => [:zap_bad_request_id, "the authenticator answered another request"],
        0x20000003 => [:zap_bad_version, "the authenticator speaks another version than 1.0"],
        0x20000004 => [:zap_invalid_status_code,
          "the authenticator's status is none of 200, 300, 400 and 500"],
        0x20000005 => [:zap_invalid_metadata, "the authenticator's metadata are malformed"],
        0x30000000 => [:ws_unspecified, "the peer broke the WebSocket protocol"]
      }.each_value { |entry| entry.each(&:freeze).freeze }.freeze

    # Status code of an authenticator => explanation.
    # @private
    STATUSES = {
      300 => "the authenticator could not decide now; the client may try again",
      400 => "the authenticator refused the peer's name, password, key or address",
      500 => "the authenticator failed"
    }.freeze

    private_constant :Kind

    class << self
      # @private
      def kind(bit) = KINDS.find { |kind| kind.bit == bit }

      # @private
      # @return [Integer] the bits of these events
      # @raise [ArgumentValueError] for an unknown event
      def bits(names, operation)
        names = names.flatten(1).uniq
        wrong = names - EVENTS
        return KINDS.sum { |kind| names.include?(kind.name) ? kind.bit : 0 } if wrong.empty?
        allowed = "one of #{EVENTS.map(&:inspect).join(", ")}"
        raise Errors.bad_value(operation, "an event", allowed, wrong.first)
      end
    end
  end
end
