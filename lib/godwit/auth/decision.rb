# frozen_string_literal: true

module Godwit
  class Auth
    # The answer of an Auth about one client. The block of {Auth#on_decision} gets each Decision. A
    # Decision is frozen and never contains a password.
    class Decision
      # @return [String] the server's `auth:` or `zap_domain:`; "" without either
      attr_reader :domain
      # @return [String] the client's IP address, or `localhost:UID:GID:PID` over ipc
      attr_reader :address
      # @return [String] "NULL", "PLAIN", "CURVE", or the name in the request
      attr_reader :mechanism
      # @return [String, nil] the client's user id; nil for a refused client, and with NULL
      attr_reader :user_id
      # @return [String, nil] the client's CURVE key, Z85; nil with other mechanisms
      attr_reader :key
      # @return [String] the cause in words
      attr_reader :reason
      # @return [Integer] 200: granted, 400: refused, 300: the client may try again
      attr_reader :status

      # @private
      def initialize(request, status, reason, user_id: nil, key: nil)
        @domain = request.domain
        @address = request.address
        @mechanism = request.mechanism
        @status = status
        @reason = reason
        @user_id = user_id
        @key = key
        freeze
      end

      # @return [Boolean] whether the client may connect
      def granted? = status == 200

      # @return [String] one line
      def to_s
        client = ["client", *(user_id if user_id != key), *key].join(" ")
        place = domain.empty? ? "" : " for #{domain}"
        verb = granted? ? "granted" : "refused"
        text = "#{verb} #{mechanism} #{client} from #{address}#{place}: #{reason} (#{status})"
        Cert.printable(text)
      end

      # @return [String]
      def inspect = "#<#{self.class} #{self}>"
    end
  end
end
