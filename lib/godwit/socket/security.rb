# frozen_string_literal: true

module Godwit
  class Socket
    # Makes options of the keywords that switch on CURVE and PLAIN.
    # @private
    module Security
      module_function

      # @return [Hash{Symbol => Object}] options
      def options(curve, server_key, plain)
        if server_key && !curve
          raise ArgumentValueError.new(
            "new: server_key: goes with curve:, the client's own keys " \
            "(Godwit::Curve.keypair)",
            operation: :new
          )
        end
        {**curve_options(curve, server_key), **plain_options(plain)}
      end

      def curve_options(keys, server_key)
        return {} unless keys
        keys = pair(keys)
        both = {curve_public_key: keys.public_key, curve_secret_key: keys.secret_key}
        if server_key
          server_key = server_key.public_key if server_key.is_a?(Cert)
          {**both, curve_server_key: Curve.z85(server_key)}
        else
          {curve_server: true, **both}
        end
      end

      # @return [Curve::Keypair]
      def pair(keys)
        return keys if keys.is_a?(Curve::Keypair)
        return keys.keypair if keys.is_a?(Cert) && keys.secret?
        wrong =
          if keys.is_a?(Cert)
            "a certificate without its secret key: load the file NAME.key_secret"
          else
            keys.class
          end
        raise CurveKeyError.new(
          "curve: takes a Godwit::Curve::Keypair or a Godwit::Cert: got #{wrong}", operation: :curve
        )
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
