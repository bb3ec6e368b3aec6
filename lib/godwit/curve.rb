# frozen_string_literal: true

module Godwit
  # Keys of CURVE, ZeroMQ's encryption and authentication by public keys.
  #
  #   keys = Godwit::Curve.keypair
  #   rep = Godwit::REP.bind("tcp://*:5555", curve: keys) # the server
  #   req = Godwit::REQ.connect(url, curve: Godwit::Curve.keypair, server_key: keys.public_key)
  #
  # @see http://api.zeromq.org/4-3:zmq-curve zmq_curve(7)
  # @see https://rfc.zeromq.org/spec/26/ RFC 26
  module Curve
    # A public key and its secret key. Frozen; `inspect` hides the secret key.
    class Keypair
      # @return [String] Z85, 40 characters; everybody may know it
      attr_reader :public_key
      # @return [String] Z85, 40 characters; keep it secret
      attr_reader :secret_key

      # @param public_key [String, nil] Z85 (40 characters) or 32 bytes; nil: derived from the
      #   secret key
      # @param secret_key [String] Z85 (40 characters) or 32 bytes
      # @raise [CurveKeyError] when a key is malformed
      def initialize(secret_key:, public_key: nil)
        @secret_key = Curve.z85(secret_key).freeze
        @public_key = (public_key ? Curve.z85(public_key) : Curve.public_key(secret_key)).freeze
        freeze
      end

      # @return [String] 32 bytes
      def raw_public_key = Z85.decode(public_key)
      # @return [String] 32 bytes
      def raw_secret_key = Z85.decode(secret_key)

      # @param other [Object]
      # @return [Boolean] whether both keys are the same
      def ==(other)
        other.is_a?(Keypair) && public_key == other.public_key && secret_key == other.secret_key
      end

      # @return [String] without the secret key
      def inspect = "#<#{self.class} public_key=#{public_key} secret_key=[hidden]>"
      alias_method :to_s, :inspect
    end

    # Makes a new key pair.
    # @return [Keypair]
    # @raise [UnsupportedError] when libzmq was built without CURVE
    def self.keypair
      public_key, secret_key = Backend::IMPLEMENTATION.curve_keypair(nil)
      raise unsupported("keypair") unless public_key
      Keypair.new(public_key: public_key, secret_key: secret_key)
    end

    # @param secret_key [String] Z85 (40 characters) or 32 bytes
    # @return [String] the public key of this secret key, Z85
    # @raise [CurveKeyError] when the key is malformed
    # @raise [UnsupportedError] when libzmq was built without CURVE
    def self.public_key(secret_key)
      Backend::IMPLEMENTATION.curve_keypair(z85(secret_key))&.first ||
        raise(unsupported("public_key"))
    end

    # @param key [String] Z85 (40 characters) or 32 bytes
    # @return [String] the same key in Z85
    # @raise [CurveKeyError] when the key is malformed; the message does not show the key
    def self.z85(key)
      return Z85.encode(key) if key.is_a?(String) && key.bytesize == 32
      raise ArgumentError unless key.is_a?(String) && key.bytesize == 40
      Z85.decode(key)
      Runtime.ascii(key)
    rescue ArgumentError
      got = key.is_a?(String) ? "#{key.bytesize} bytes that are neither" : key.class.name
      raise CurveKeyError.new(
        "a CURVE key is a String of 40 characters of Z85 or of 32 bytes: got #{got}",
        operation: :curve
      )
    end

    # @private
    def self.unsupported(operation)
      hint = "this libzmq was built without CURVE: Godwit.has?(:curve) is false"
      Errors.build(UnsupportedError, operation, nil, hint)
    end
  end
end
