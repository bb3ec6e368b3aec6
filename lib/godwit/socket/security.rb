# frozen_string_literal: true

module Godwit
  class Socket
    # The options for the keywords of CURVE and PLAIN.
    # @private
    module Security
      module_function

      def options(curve, server_key, plain)
        if server_key && !curve
          raise Errors.of(ArgumentValueError, :new,
            "server_key: goes with curve:, the client's own keys (Godwit::Curve.keypair)")
        end
        {**curve_options(curve, server_key), **plain_options(plain)}
      end

      def curve_options(keys, server_key)
        return {} unless keys
        keys = pair(keys)
        both = {curve_public_key: keys.public_key, curve_secret_key: keys.secret_key}
        return {curve_server: true, **both} unless server_key
        server_key = server_key.public_key if server_key.is_a?(Cert)
        {**both, curve_server_key: Curve.z85(server_key)}
      end

      # @return [Curve::Keypair]
      def pair(keys)
        return keys if keys.is_a?(Curve::Keypair)
        return keys.keypair if keys.is_a?(Cert) && keys.secret?
        public_one = "a certificate without its secret key: load the file NAME.key_secret"
        got = keys.is_a?(Cert) ? public_one : keys.class
        text = "takes a Godwit::Curve::Keypair or a Godwit::Cert: got #{got}"
        raise Errors.of(CurveKeyError, :curve, text)
      end

      def plain_options(plain)
        return {} unless plain
        name, password = plain if plain.is_a?(Array) && plain.size == 2
        if name.is_a?(String) && password.is_a?(String)
          return {plain_username: name, plain_password: password}
        end
        raise Errors.bad_value(
          :new, "plain:", "[user name, password], two Strings", plain, secret: true
        )
      end
    end
  end
end
