# frozen_string_literal: true

module Godwit
  class Monitor
    # One kind of event: its name, its bit in libzmq, the kind of its value, and its meaning.
    # @private
    Kind = Struct.new(:name, :bit, :value, :text)

    # The events of libzmq. An event's value is a descriptor (:fd), an errno (:errno), milliseconds
    # (:interval), a protocol error (:protocol), an authenticator's status code (:status), the
    # numbers of waiting messages (:counts), or nothing. {file:docs/monitor.md} shows this table.
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
      def bits(names, operation)
        names = names.flatten(1).uniq
        wrong = names - EVENTS
        return KINDS.sum { |kind| names.include?(kind.name) ? kind.bit : 0 } if wrong.empty?
        allowed = "one of #{EVENTS.map(&:inspect).join(", ")}"
        raise Errors.bad_value(operation, "an event", allowed, wrong.first)
      end
    end

    # One event of a socket's connections. Frozen, and shareable between Ractors.
    #
    #   case event
    #   in {name: :handshake_failed_auth} then warn "refused"
    #   in {name: :disconnected, endpoint:} then warn "lost #{endpoint}"
    #   else puts event
    #   end
    #
    # @see http://api.zeromq.org/4-3:zmq-socket-monitor zmq_socket_monitor(3)
    class Event
      # @return [Symbol] one of {Monitor::EVENTS}
      attr_reader :name
      # @return [String] the peer's endpoint, for a connection that this socket makes; else the
      #   bound endpoint; "" when libzmq names none
      attr_reader :endpoint
      # @return [Integer] libzmq's value: a descriptor, an errno, milliseconds or a code; see
      #   {file:docs/monitor.md}
      attr_reader :value
      # @return [Array<Integer>] libzmq's values: two of a :pipes_stats event, one of any other
      attr_reader :values
      # @return [String, nil] this socket's own endpoint; nil on a libzmq without drafts
      attr_reader :local_endpoint
      # @return [String, nil] the peer's endpoint; nil on a libzmq without drafts
      attr_reader :remote_endpoint

      # @private
      # @param bit [Integer] libzmq's number of the event
      def initialize(bit, values, endpoint, local_endpoint = nil, remote_endpoint = nil)
        kind = Monitor.kind(bit)
        @name = kind ? kind.name : :"event_#{bit}"
        @kind = kind&.value
        @text = kind ? kind.text : "an event of a newer libzmq"
        @values = values.freeze
        @value = values.first || 0
        @endpoint = -endpoint
        @local_endpoint = local_endpoint && -local_endpoint
        @remote_endpoint = remote_endpoint && -remote_endpoint
        freeze
      end

      # @return [SystemCallError, nil] for an event whose value is an errno, such as
      #   Errno::ECONNREFUSED; each call makes a new one
      def error
        SystemCallError.new(nil, value) if @kind == :errno && value.positive?
      end

      # @return [Symbol, nil] why a :handshake_failed_protocol failed, such as :zmtp_unspecified
      def protocol_error
        PROTOCOL_ERRORS[value]&.first || :unknown if @kind == :protocol
      end

      # @return [Integer, nil] the authenticator's status in a :handshake_failed_auth: 300, 400, 500
      def status
        value if @kind == :status
      end

      # @return [Float, nil] seconds until the next try, of a :connect_retried
      def interval
        value / 1000.0 if @kind == :interval
      end

      # The descriptor of the connection, only to tell connections apart. The descriptor may be
      # closed already, or belong to another file.
      # @return [Integer, nil]
      def fd
        value if @kind == :fd
      end

      # @return [String, nil] the meaning of an errno, a protocol error or a status code
      def reason
        case @kind
        when :errno then error&.message
        when :protocol then PROTOCOL_ERRORS[value]&.last || "protocol error 0x#{value.to_s(16)}"
        when :status then "#{value}: #{STATUSES[value] || "no status that the protocol knows"}"
        end
      end

      # @return [Boolean] whether the event is one of {Monitor::FAILURES}
      def failure? = FAILURES.include?(name)

      # @return [String] one line
      def to_s
        line = "#{name}#{" " unless endpoint.empty?}#{endpoint}: #{@text}"
        line << " in #{interval} s" if interval && line.sub!(" after the interval", "")
        line << " (#{values.join(" out, ")} in)" if @kind == :counts
        reason ? "#{line} (#{reason})" : line
      end

      # @return [String]
      def inspect = "#<#{self.class} #{name} #{endpoint.inspect} #{values.join(", ")}>"

      # The facts of the event by name, for pattern matching.
      # @param keys [Array<Symbol>, nil] nil: all
      # @return [Hash{Symbol => Object}]
      def deconstruct_keys(keys)
        names = keys ? KEYS & keys : KEYS
        names.to_h { |key| [key, public_send(key)] }
      end

      # @param keys [Array<Symbol>, nil] nil: all
      # @return [Hash{Symbol => Object}]
      def to_h(keys = nil) = deconstruct_keys(keys)
      # @param other [Object]
      # @return [Boolean] whether `other` has the same name, endpoints and values
      def ==(other) = other.is_a?(Event) && state == other.state
      alias_method :eql?, :==
      # @return [Integer]
      def hash = state.hash

      KEYS = %i[
        name endpoint value values local_endpoint remote_endpoint error protocol_error status
        interval fd reason
      ].freeze
      private_constant :KEYS

      protected

      def state = [name, endpoint, values, local_endpoint, remote_endpoint]
    end
  end
end
