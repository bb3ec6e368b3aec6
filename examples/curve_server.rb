# frozen_string_literal: true

# Answers only requests that are encrypted with CURVE. Prints its endpoint and the public key that clients need:
#
#   ruby -Ilib examples/curve_server.rb [ENDPOINT]
require "godwit"

keys = Godwit::Curve.keypair
rep = Godwit::REP.bind(ARGV[0] || "tcp://127.0.0.1:5556", curve: keys)
$stdout.sync = true
puts "ready at #{rep.last_endpoint}, public key #{keys.public_key}"

rep.serve { |request| "hello #{request}" }
