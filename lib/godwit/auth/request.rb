# frozen_string_literal: true

module Godwit
  class Auth
    # A request of libzmq about one client. The blocks of {Auth#curve} and {Auth#plain} get a frozen
    # Request.
    class Request
      # Address that libzmq gives to the peer of an ipc connection, with values from the kernel.
      IPC = /\Alocalhost:(\d+):(\d*):(\d*)\z/
      private_constant :IPC

      # @return [String] the server's `auth:` or `zap_domain:`; "" without either
      attr_reader :domain
      # @return [String] the client's IP address, or `localhost:UID:GID:PID` over ipc
      attr_reader :address
      # @return [String] "NULL", "PLAIN" or "CURVE"
      attr_reader :mechanism
      # @return [Integer, nil] the user id of the client's process, over ipc
      attr_reader :uid
      # @return [Integer, nil] the group id of the client's process, over ipc
      attr_reader :gid
      # @return [Integer, nil] the process id of the client, over ipc if the system reports it
      attr_reader :pid

      # @private
      def initialize(domain, address, mechanism)
        @domain = domain
        @address = address
        @mechanism = mechanism
        numbers = address.match(IPC)&.captures if address.start_with?("localhost:")
        @uid, @gid, @pid = numbers.map { |text| Integer(text, 10) unless text.empty? } if numbers
        freeze
      end

      # @return [Boolean] whether the client came over ipc
      def ipc? = !@uid.nil?

      # @return [String]
      def inspect
        "#<#{self.class} #{mechanism} from #{address.inspect} for #{domain.inspect}>"
      end
      alias_method :to_s, :inspect
    end
  end
end
