# frozen_string_literal: true

# Answers the clients that have a certificate in a directory, each by name, and no others. Makes its
# own keys. Prints where it is, the key that clients must know, and each refusal:
#
#   ruby -Ilib examples/curve_server.rb [ENDPOINT] CLIENTS
require "godwit"

unless ARGV.size.between?(1, 2)
  abort "usage: curve_server.rb [ENDPOINT] CLIENTS, a directory of certificates (godwit keygen)"
end
endpoint = (ARGV.size == 2) ? ARGV[0] : "tcp://127.0.0.1:5556"
$stdout.sync = true

auth = Godwit::Auth.new
auth.curve(dir: ARGV.last)
auth.on_decision do |decision|
  puts "refused: #{decision.reason} (#{decision.status})" unless decision.granted?
end

keys = Godwit::Curve.keypair
rep = Godwit::REP.bind(endpoint, curve: keys, auth: "demo")
puts "ready at #{rep.last_endpoint}, public key #{keys.public_key}"

rep.serve(messages: true) { |message| "hello #{message.user_id}" }
