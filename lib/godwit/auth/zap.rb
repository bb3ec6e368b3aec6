# frozen_string_literal: true

require_relative "request"

module Godwit
  class Auth
    # ZAP 1.0 on the wire: parses requests of libzmq and builds the replies.
    # @private
    # @see https://rfc.zeromq.org/spec/27/ RFC 27
    module ZAP
      VERSION = "1.0"
      # Frames of a request after the empty frame: version, request id, domain, address, routing id,
      # mechanism. The credentials follow.
      FRAMES = 6
      # Number of credentials of each mechanism.
      CREDENTIALS = {"NULL" => 0, "PLAIN" => 2, "CURVE" => 1, "GSSAPI" => 1}.freeze
      KEY_BYTES = 32
      # Bytes of a domain, a name or a password: the limit of libzmq.
      LONGEST = 255
      # Bytes of an address, a request id or a mechanism.
      LONGEST_ADDRESS = 1_024
      private_constant :FRAMES, :KEY_BYTES, :LONGEST, :LONGEST_ADDRESS

      # A request that the Auth refuses without any rule.
      # @private
      class Malformed < StandardError
        # @return [Ask] with the valid parts of the request
        attr_reader :ask

        def initialize(message, ask)
          super(message)
          @ask = ask
        end
      end

      # A request and the frames that its reply needs. `inspect` hides the credentials.
      # @private
      class Ask
        # @return [Request]
        attr_reader :request
        # @return [String] the unchanged frame, binary
        attr_reader :domain
        # @return [Array<String>] name and password, or a key of 32 bytes
        attr_reader :credentials

        def initialize(peer, id, domain, request, credentials)
          @peer = peer
          @id = id
          @domain = domain
          @request = request
          @credentials = credentials
          freeze
        end

        # @return [String, nil] the client's CURVE key, Z85
        def key = (Z85.encode(credentials[0]) if request.mechanism == "CURVE" && credentials.any?)

        # @return [Array<String>] the reply for libzmq. The reply has no metadata: a peer could
        #   forge each name that its certificate lacks
        def reply(status, text, user_id)
          [@peer, "", VERSION, @id, status.to_s, text, user_id || "", ""]
        end

        def inspect = "#<#{self.class} #{request.inspect}>"
      end

      module_function

      # @param frames [Array<String>] a request that a ROUTER received
      # @return [Ask]
      # @raise [Malformed]
      def parse(frames)
        peer, delimiter, version, id, domain, address, _, mechanism, *credentials = frames
        known = short(id) ? id : ""
        request = Request.new(text(domain, LONGEST), text(address), text(mechanism))
        problem = problem(frames, delimiter, version, known, domain, mechanism, credentials)
        ask = Ask.new(peer, known, domain.to_s.b.freeze, request, problem ? [] : credentials)
        problem ? raise(Malformed.new(problem, ask)) : ask
      end

      def problem(frames, delimiter, version, id, domain, mechanism, credentials)
        return "a ZAP request begins with an empty frame" unless delimiter && delimiter.empty?
        return "the ZAP version is not #{VERSION}" unless version == VERSION
        return "a ZAP request has at least #{FRAMES} frames" if frames.size < FRAMES + 2
        return "the request id is too long or empty" if id.empty?
        return "the domain is too long" if domain.bytesize > LONGEST
        credentials_problem(mechanism, credentials)
      end

      def credentials_problem(mechanism, credentials)
        count = CREDENTIALS[mechanism]
        return "the mechanism is not known" unless count
        if credentials.size != count
          return "#{mechanism} has #{count} credentials: got #{credentials.size}"
        end
        if mechanism == "CURVE" && credentials[0].bytesize != KEY_BYTES
          "a CURVE key has #{KEY_BYTES} bytes"
        elsif mechanism == "PLAIN" && credentials.any? { |part| part.bytesize > LONGEST }
          "a name or password is longer than #{LONGEST} bytes"
        end
      end

      def short(frame) = frame && frame.bytesize <= LONGEST_ADDRESS

      # @return [String] UTF-8, frozen
      def text(frame, most = LONGEST_ADDRESS)
        text = frame.to_s.byteslice(0, most).force_encoding(Encoding::UTF_8)
        (text.valid_encoding? ? text : text.scrub("?")).freeze
      end
      private_class_method :problem, :credentials_problem, :short, :text
    end
    private_constant :ZAP
  end
end
