# frozen_string_literal: true

module Godwit
  class Diagnosis
    # Connects sockets of its own to an endpoint, to learn why the diagnosed socket has no peer
    # there: over tcp a {Peek}; with security, or over ipc, a SUB with the same keys. That SUB gets
    # no message, since it does not subscribe.
    class Probe
      # Options of transport and of security that a probe's sockets copy from the diagnosed socket.
      TRANSPORT = %i[ipv6 bind_to_device socks_proxy socks_username socks_password].freeze
      SECURITY = %i[
        curve_server_key curve_public_key curve_secret_key plain_username plain_password
      ].freeze

      # @return [Probe, nil] nil when the probe cannot connect
      def self.start(socket, endpoint)
        probe = new(socket, endpoint)
        probe.start
      rescue Error
        probe&.close
        nil
      end

      attr_reader :endpoint, :peek

      def initialize(socket, endpoint)
        @socket = socket
        @endpoint = endpoint
      end

      def open? = !@closed

      def start
        tcp = endpoint.start_with?("tcp:")
        @peek = Peek.new(@socket, endpoint) if tcp
        return self if tcp && @socket.mechanism == :null
        @shadow = SUB.new(context: @socket.context, linger: 0)
        @socket.share_options(@shadow, TRANSPORT + SECURITY)
        @diagnosis = Diagnosis.new(@shadow, probes: false)
        @shadow.connect(endpoint)
        self
      end

      def update
        return self if @closed
        @peek&.update
        @diagnosis&.update
        self
      end

      def finding
        said = Words.peeked(@socket, endpoint, @peek) if @peek
        return said if said || @diagnosis.nil?
        if @diagnosis.connected?
          return Words.types(@socket, endpoint, :PUB) unless Words.fits?(@socket, :PUB)
        end
        link = @diagnosis.failed_link
        Words.failure(@socket, link, @peek) if link
      end

      def close
        @closed = true
        @peek&.close
        @shadow&.close
      end
    end
  end
end
