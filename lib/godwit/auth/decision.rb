# frozen_string_literal: true

module Godwit
  class Auth
    # The answer of an Auth about one client. The block of {Auth#on_decision} gets each Decision. A
    # Decision is frozen and never contains a password.
    class Decision
      GRANTED = 200
      LATER = 300
      REFUSED = 400
      private_constant :GRANTED, :LATER, :REFUSED

      # @return [String] the server's `auth:` or `zap_domain:`; "" without either
      attr_reader :domain
      # @return [String] the client's IP address, or `localhost:UID:GID:PID` over ipc
      attr_reader :address
      # @return [String] "NULL", "PLAIN", "CURVE", or the name in the request
      attr_reader :mechanism
      # @return [String, nil] the client's user id; nil for a refused client, and with NULL
      attr_reader :user_id
      # @return [String] the cause in words
      attr_reader :reason
      # @return [Integer] 200: granted, 400: refused, 300: the client may try again
      attr_reader :status

      # @private
      def self.grant(request, user_id, reason) = new(request, GRANTED, reason, user_id)
      # @private
      def self.refuse(request, reason) = new(request, REFUSED, reason)
      # @private
      # After the status 300 the client's libzmq connects again.
      def self.later(request, reason) = new(request, LATER, reason)

      # @private
      def initialize(request, status, reason, user_id = nil)
        @domain = request.domain
        @address = request.address
        @mechanism = request.mechanism
        @status = status
        @reason = reason
        @user_id = user_id
        @raw_key = request.raw_key
        freeze
      end

      # @return [String, nil] the client's CURVE key, Z85; nil with other mechanisms
      def key = @raw_key && Z85.encode(@raw_key)

      # @return [Boolean] whether the client may connect
      def granted? = status == GRANTED
      # @private
      def later? = status == LATER

      # @return [String] the decision in one line
      def to_s
        client = ["client", *(user_id if user_id != key), *key].join(" ")
        server = domain.empty? ? "" : " for #{domain}"
        verb = granted? ? "granted" : "refused"
        text = "#{verb} #{mechanism} #{client} from #{address}#{server}: #{reason} (#{status})"
        Cert.printable(text)
      end

      # @return [String]
      def inspect = "#<#{self.class} #{self}>"
    end
  end
end
