# frozen_string_literal: true

module Godwit
  class Monitor
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
      # @return [String] of a connection that this socket makes, the peer's endpoint; else the bound
      #   one; "" when libzmq names none
      attr_reader :endpoint
      # @return [Integer] libzmq's value: a descriptor, an errno, milliseconds, a code; see
      #   {file:docs/monitor.md}
      attr_reader :value
      # @return [Array<Integer>] libzmq's values: one, but two of a :pipes_stats
      attr_reader :values
      # @return [String, nil] this end of the connection; nil on a libzmq without drafts
      attr_reader :local_endpoint
      # @return [String, nil] the peer's end of the connection; nil on a libzmq without drafts
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
      #   Errno::ECONNREFUSED; a new one each time
      def error
        SystemCallError.new(nil, value) if @kind == :errno && value.positive?
      end

      # @return [Symbol, nil] of a :handshake_failed_protocol, such as :zmtp_mechanism_mismatch
      def protocol_error
        PROTOCOL_ERRORS[value]&.first || :unknown if @kind == :protocol
      end

      # @return [Integer, nil] of a :handshake_failed_auth: 300, 400 or 500
      def status
        value if @kind == :status
      end

      # @return [Float, nil] seconds until the next try, of a :connect_retried
      def interval
        value / 1000.0 if @kind == :interval
      end

      # The descriptor of the connection, only to tell connections apart. It may be closed already,
      # or be another file's.
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

      # @return [Boolean] whether it is one of {Monitor::FAILURES}
      def failure? = FAILURES.include?(name)

      # @return [String] one line
      def to_s
        line = "#{name}#{" " unless endpoint.empty?}#{endpoint}: #{@text}"
        line << " in #{interval} s" if interval && line.sub!(" after the interval", "")
        line << " (#{values.join(" out, ")} in)" if @kind == :counts
        reason ? "#{line} (#{reason})" : line
      end

      # @return [String]
      def inspect
        "#<#{self.class} #{name} #{endpoint.inspect} #{values.join(", ")}>"
      end

      # For pattern matching.
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
      # @return [Boolean] whether it is the same event at the same place with the same values
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
