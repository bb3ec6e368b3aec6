# frozen_string_literal: true

# Sends a request to curve_server.rb over CURVE. With a wrong key it gets no reply: the server refuses the handshake.
#
#   ruby -Ilib examples/curve_client.rb ENDPOINT SERVER_KEY
require "godwit"

abort "usage: curve_client.rb ENDPOINT SERVER_KEY; curve_server.rb prints both" unless ARGV.size == 2
endpoint, server_key = ARGV

# linger 0: at the end the program does not wait for a request that cannot be delivered.
Godwit::REQ.connect(endpoint, curve: Godwit::Curve.keypair, server_key: server_key, linger: 0) do |req|
  puts "served: #{req.request("world", timeout: 1)}"
rescue Godwit::TimeoutError
  puts "refused: no answer within a second"
  exit 1
end
