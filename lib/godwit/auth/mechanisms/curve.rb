# frozen_string_literal: true

module Godwit
  class Auth
    # CURVE: the client's public key. A rule checks a directory of certificates, keys, then a block.
    class Mechanism::Curve < Mechanism
      NAME = "CURVE"
      CREDENTIALS = 1
      KEY_BYTES = 32

      def self.problem(credentials)
        wrong = super and return wrong
        "a CURVE key has #{KEY_BYTES} bytes" if credentials[0].bytesize != KEY_BYTES
      end

      def self.key(credentials) = credentials.first

      # Keys are compared as 32 bytes: their conversion to Z85 would take longer than the lookup.
      def initialize(dir, keys, block)
        unless dir || keys || block
          raise Errors.of(ArgumentValueError, :curve, "give dir:, keys: or a block")
        end
        @any = keys == :any
        @keys = (keys && !@any) ? by_key(keys) : {}
        @store = dir.is_a?(CertStore) ? dir : dir && CertStore.new(dir)
        super(block)
      end

      attr_reader :store

      def decide(request, credentials)
        raw = credentials.first
        cert = @store&.by_key(raw)
        return Decision.grant(request, cert.name, "by its certificate") if cert
        name = @keys[raw]
        return Decision.grant(request, name, "by its key") if name
        return Decision.grant(request, Z85.encode(raw), "any key may connect") if @any
        Decision.refuse(request, "its key is not known") unless @block
      end

      private

      def arguments(credentials) = credentials.map { |key| Z85.encode(key) }

      def by_key(keys)
        unless keys.is_a?(Hash)
          raise Errors.bad_type(:curve, "keys:", "a Hash of user ids and public keys, or :any",
            keys)
        end
        keys.each_with_object({}) do |(id, key), known|
          raise Errors.bad_value(:curve, "a user id", User::ALLOWED, id) unless User.id?(id)
          key = key.is_a?(Cert) ? key.public_key : Godwit::Curve.z85(key)
          known[Z85.decode(key)] ||= User.utf8(id).freeze
        end.freeze
      end
    end
  end
end
