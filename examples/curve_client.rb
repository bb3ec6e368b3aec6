# frozen_string_literal: true

# Asks curve_server.rb something, over CURVE. The server refuses a client whose certificate it does
# not know.
#
#   ruby -Ilib examples/curve_client.rb ENDPOINT SERVER_KEY [CERTIFICATE]
require "godwit"

unless ARGV.size.between?(2, 3)
  abort "usage: curve_client.rb ENDPOINT SERVER_KEY [CERTIFICATE]; curve_server.rb prints " \
    "the first two"
end
endpoint, server_key, file = ARGV
cert = file ? Godwit::Cert.load(file) : Godwit::Cert.new

# linger: a request that cannot be delivered is not worth waiting for at the end.
Godwit::REQ.new(curve: cert, server_key: server_key, linger: 0) do |req|
  refusals = req.monitor(:handshake_failed_auth, :handshake_succeeded)
  req.connect(endpoint)
  event = refusals.next_event(timeout: 5)
  abort "refused by the server (#{event.value})" if event.name == :handshake_failed_auth
  puts "served: #{req.request("who am I?", timeout: 5)}"
end
