# frozen_string_literal: true

# Prints the readings of devices (device.rb) and orders each new device to send at an interval.
# With keys, which `godwit keygen` makes, it serves over CURVE the devices whose public
# certificates are in the directory CLIENTS, and knows their names:
#
#   ruby -Ilib examples/mruby/collector.rb [ENDPOINT [SECONDS [SERVER.key_secret CLIENTS]]]
require "godwit"

endpoint, interval, certificate, clients = ARGV
unless ARGV.size <= 2 || ARGV.size == 4
  abort "usage: collector.rb [ENDPOINT [SECONDS [SERVER.key_secret CLIENTS]]]"
end
security = {}
if certificate
  auth = Godwit::Auth.new
  auth.curve(dir: clients)
  security = {curve: Godwit::Cert.load(certificate), auth: "devices"}
end
$stdout.sync = true

router = Godwit::ROUTER.bind(endpoint || "tcp://127.0.0.1:5556", **security)
puts "ready at #{router.last_endpoint}"

router.serve(messages: true) do |message|
  id, number, load = message.to_a.map(&:to_s)
  puts "#{message.user_id || "a device"}: reading #{number}, load #{load}"
  [id, interval || "1"] if number == "1"
end
