# frozen_string_literal: true

require_relative "addresses"
require_relative "mechanism"

module Godwit
  class Auth
    # A request of libzmq about one client, in the form of ZAP 1.0. The blocks of {Auth#curve} and
    # {Auth#plain} get a frozen Request.
    # @see https://rfc.zeromq.org/spec/27/ RFC 27
    class Request
      VERSION = "1.0"
      # Frames of a request after the empty frame: version, request id, domain, address, routing id,
      # mechanism. The credentials follow.
      FRAMES = 6
      # Most bytes of a domain: the limit of libzmq.
      LONGEST = 255
      # Most bytes of an address, a request id or a mechanism.
      LONGEST_ADDRESS = 1_024
      # Address that libzmq gives to the peer of an ipc connection, with values from the kernel.
      IPC = /\Alocalhost:(\d+):(\d*):(\d*)\z/
      # The number of low bits of an IPv6 address that its client can choose.
      OWN_BITS = 64
      private_constant :VERSION, :FRAMES, :LONGEST, :LONGEST_ADDRESS, :IPC, :OWN_BITS

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

      # `problem`: why the request is refused before any rule, or nil. `raw_domain`: the domain's
      # frame. `ip`: the result of {Addresses.parse}. `deadline`: when the client's wait ends.
      # @private
      attr_reader :problem, :raw_domain, :ip, :deadline

      # @private
      def initialize(frames, deadline)
        @peer, _, _, id, domain, address, _, mechanism, *credentials = frames
        @id = (id && id.bytesize <= LONGEST_ADDRESS) ? id : ""
        @raw_domain = domain.to_s.b.freeze
        @domain, @address = text(domain, LONGEST), text(address)
        @mechanism = text(mechanism)
        @problem = find_problem(frames, credentials)
        @credentials = @problem ? [] : credentials
        @deadline = deadline
        numbers = @address.match(IPC)&.captures if @address.start_with?("localhost:")
        @uid, @gid, @pid = numbers.map { |text| Integer(text, 10) unless text.empty? } if numbers
        @ip = Addresses.parse(@address) unless numbers
        freeze
      end

      # @return [Boolean] whether the client came over ipc
      def ipc? = !@uid.nil?

      # @private
      # @return [String, nil] the client's CURVE key, 32 bytes
      def raw_key = MECHANISMS[mechanism]&.key(@credentials)

      # Passes on the credentials. No method returns them, since a rule's block gets the request.
      # @private
      def decide(rule) = rule.decide(self, @credentials)

      # @private
      def ask(rule) = rule.ask(self, @credentials)

      # @private
      def redact(text)
        secret = MECHANISMS[mechanism].secret(@credentials)
        return text if secret.nil? || secret.empty?
        secret = secret.dup.force_encoding(Encoding::UTF_8).scrub("?")
        [secret.inspect[1..-2], secret].inject(text) { |all, one| all.gsub(one, "[hidden]") }
      end

      # @private
      # @return [Object] equal for requests that count as one address: of one IPv4 address, of one
      #   IPv6 network of 64 bits, or of one user over ipc
      def origin
        return [:uid, uid] if ipc?
        return address unless @ip
        bits, number = @ip
        [bits, (bits == 128) ? number >> OWN_BITS : number]
      end

      # @private
      # @return [Array<String>] the reply for libzmq. It has no metadata, since libzmq mixes
      #   metadata with the properties that the client itself sends: a client could forge metadata
      def reply(decision)
        text = decision.granted? ? "OK" : decision.reason
        [@peer, "", VERSION, @id, decision.status.to_s, text, decision.user_id || "", ""]
      end

      # @return [String] without the credentials
      def inspect
        "#<#{self.class} #{mechanism} from #{address.inspect} for #{domain.inspect}>"
      end
      alias_method :to_s, :inspect

      private

      def find_problem(frames, credentials)
        return "a ZAP request begins with an empty frame" unless frames[1] && frames[1].empty?
        return "the ZAP version is not #{VERSION}" unless frames[2] == VERSION
        return "a ZAP request has at least #{FRAMES} frames" if frames.size < FRAMES + 2
        return "the request id is too long or empty" if @id.empty?
        return "the domain is too long" if raw_domain.bytesize > LONGEST
        known = MECHANISMS[mechanism] or return "the mechanism is not known"
        known.problem(credentials)
      end

      def text(frame, most = LONGEST_ADDRESS)
        text = frame.to_s.byteslice(0, most).force_encoding(Encoding::UTF_8)
        (text.valid_encoding? ? text : text.scrub("?")).freeze
      end
    end
  end
end
