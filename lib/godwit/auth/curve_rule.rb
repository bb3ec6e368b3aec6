# frozen_string_literal: true

require_relative "user"

module Godwit
  class Auth
    # A rule for CURVE. It asks a certificate directory, keys and a block, in this order.
    # @private
    class CurveRule
      # The lookup uses the key's 32 bytes: the conversion to Z85 takes longer than the lookup.
      # @raise [ArgumentValueError, ArgumentTypeError, CurveKeyError, CertError]
      def initialize(dir, keys, block)
        unless dir || keys || block
          raise Errors.of(ArgumentValueError, :curve, "give dir:, keys: or a block")
        end
        @any = keys == :any
        @keys = (keys && !@any) ? by_key(keys) : {}
        @block = block
        @store = dir.is_a?(CertStore) ? dir : dir && CertStore.new(dir)
        freeze
      end

      # @return [CertStore, nil]
      attr_reader :store

      # @param ask [ZAP::Ask]
      # @return [Verdict]
      def judge(ask)
        raw = ask.credentials[0]
        cert = @store&.by_key(raw)
        return Verdict.grant(cert.name, "by its certificate") if cert
        name = @keys[raw]
        return Verdict.grant(name, "by its key") if name
        return Verdict.grant(ask.key, "any key may connect") if @any
        return Verdict.refuse("its key is not known") unless @block
        block, key, request = @block, ask.key, ask.request
        Verdict.ask { block.call(key, request) }
      end

      private

      def by_key(keys)
        unless keys.is_a?(Hash)
          raise Errors.bad_type(
            :curve, "keys:", "a Hash of user ids and public keys, or :any", keys
          )
        end
        keys.each_with_object({}) do |(id, key), known|
          raise Errors.bad_value(:curve, "a user id", User::ALLOWED, id) unless User.id?(id)
          key = key.is_a?(Cert) ? key.public_key : Curve.z85(key)
          known[Z85.decode(key)] ||= User.utf8(id).freeze
        end.freeze
      end
    end
    private_constant :CurveRule
  end
end
