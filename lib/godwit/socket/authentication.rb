# frozen_string_literal: true

module Godwit
  class Socket
    # Applies `auth:` to a socket, and decides whether its frames have user ids.
    # @private
    module Authentication
      HANDSHAKE_TIMEOUT = 10 # seconds until an unfinished handshake ends; the client connects again
      # Options that make a socket a client: then libzmq asks no authenticator about its peers.
      CLIENT = %i[curve_server_key plain_username plain_password].freeze
      # Options that turn GSSAPI on. Without a ZAP handler libzmq accepts every GSSAPI peer.
      GSSAPI = %i[
        gssapi_server gssapi_principal gssapi_service_principal gssapi_plaintext
        gssapi_principal_name_type gssapi_service_principal_name_type
      ].freeze
      DOMAIN = %i[zap_domain zap_enforce_domain].freeze
      # A socket's user ids come from the authenticator as long as none of these options changes.
      DECISIVE = [*CLIENT, *GSSAPI, *DOMAIN, :router_raw].freeze
      # Options that are fixed on a socket with `auth:`; the last four turn PLAIN or CURVE on.
      FIXED = [*DECISIVE, :curve_server, :plain_server, :curve_public_key, :curve_secret_key].freeze
      # Transports that enforce no handshake. Over ws libzmq accepts a peer that names no mechanism.
      INSECURE = %w[inproc udp pgm epgm norm ws wss].freeze
      # Types that speak to peers without a handshake.
      RAW = %i[STREAM DGRAM].freeze

      module_function

      # @param defaults [Hash] options that the context gives to its sockets
      # @return [Hash{Symbol => Object}] the options, and those that `auth:` implies
      def options(type, defaults, domain, options)
        return options if domain.nil?
        check_domain(domain)
        given = options.transform_keys(&:to_sym)
        defaults = defaults.transform_keys(&:to_sym)
        check_together(type, given, defaults)
        limit = {handshake_timeout: HANDSHAKE_TIMEOUT}
        limit = {} if defaults.key?(:handshake_timeout)
        {**limit, **given, zap_domain: domain, zap_enforce_domain: true}
      end

      def check_domain(domain)
        wanted = "a domain of 1 to 255 bytes without NUL, such as \"billing\""
        raise Errors.bad_type(:new, "auth:", wanted, domain) unless domain.is_a?(String)
        raise Errors.bad_value(:new, "auth:", wanted, domain) unless domain?(domain)
      end

      def domain?(text) = text.bytesize.between?(1, 255) && !text.include?("\0")

      def check_together(type, given, defaults)
        refuse("is not for a #{type}, whose peers make no handshake") if RAW.include?(type)
        if DOMAIN.any? { |name| given.key?(name) }
          refuse("sets zap_domain: and zap_enforce_domain: itself: leave them out")
        end
        all = defaults.merge(given)
        if CLIENT.any? { |name| all[name] }
          refuse("is for a server; server_key: and plain: make the socket a client: leave them out")
        end
        if GSSAPI.any? { |name| all.key?(name) }
          refuse("has no rules for GSSAPI, whose peers libzmq accepts without a handler: leave " \
            "gssapi_server: out")
        end
        refuse("is not for router_raw:, whose peers make no handshake") if all[:router_raw]
      end

      # @raise [EndpointError] for a transport that enforces no handshake
      def check_transport(endpoint, operation)
        transport = endpoint.b[/\A\w+/]
        return unless INSECURE.include?(transport)
        Endpoint.refuse(
          operation, endpoint,
          "auth: needs a handshake, which #{transport} does not enforce: use tcp:// or ipc://, " \
          "or leave auth: out"
        )
      end

      def refuse(why)
        raise Errors.of(ArgumentValueError, :new, "auth: #{why}")
      end

      # Extends a socket whose options are set. Each of `settings` is [option, raw value, value].
      def apply(socket, domain, settings)
        return unless domain || enforced?(socket.type, settings)
        socket.extend(UserIds)
        socket.extend(Fixed) if domain
      end

      # @return [Boolean] whether libzmq asks the authenticator about each peer of the socket
      def enforced?(type, settings)
        values = settings.to_h { |option, _, value| [option.name, value] }
        return false unless values[:zap_enforce_domain] && !values[:zap_domain].to_s.empty?
        !RAW.include?(type) && !values[:router_raw] && CLIENT.none? { |name| values[name] } &&
          GSSAPI.none? { |name| values.key?(name) }
      end

      # Trusts the user ids of received frames: libzmq asks the authenticator about the peers of
      # this socket.
      # @private
      module UserIds
        def store(option, raw, value)
          @untrusted = true if DECISIVE.include?(option.name)
          super
        end

        private

        def _recv_frame(...)
          frames = super
          return frames if frames.nil? || @untrusted
          frames.is_a?(Array) ? frames.each(&:trust_user_id) : frames.trust_user_id
        end

        def _recv_frames(...)
          frames = super
          frames&.each(&:trust_user_id) unless @untrusted
          frames
        end
      end

      # Refuses changes of the security options of a socket with `auth:`.
      # @private
      module Fixed
        def store(option, raw, value)
          return super unless FIXED.include?(option.name)
          raise option.error("is fixed by auth: make another socket for it")
        end

        private

        def check_endpoint(endpoint, operation)
          super.tap { |checked| Authentication.check_transport(checked, operation) }
        end
      end
    end
  end
end
