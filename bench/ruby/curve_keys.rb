# frozen_string_literal: true

# The keys of bench/c/curve.h, which are no secret.
module CurveKeys
  SERVER = Godwit::Curve::Keypair.new(secret_key: "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6")

  # @return [Hash] options of a client
  def self.client = {curve: Godwit::Curve.keypair, server_key: SERVER.public_key}
end
