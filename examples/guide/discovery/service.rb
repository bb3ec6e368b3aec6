# frozen_string_literal: true

# Squares numbers at any free port. A beacon announces the port on the local network.
#
#   ruby -Ilib examples/guide/discovery/service.rb [UDP_PORT [NAME [INTERFACE]]]
require "godwit"

port = Integer(ARGV[0] || 9999)
name = ARGV[1] || "service #{Process.pid}"
%w[INT TERM].each { |signal| trap(signal) { exit } }
$stdout.sync = true

Godwit::Beacon.new(port, interface: ARGV[2], interval: 0.5) do |beacon|
  # Reached from that network, and from no other; "*" stands for all.
  host = beacon.hostname.empty? ? "*" : beacon.hostname
  Godwit::REP.bind("tcp://#{host}:*") do |rep|
    beacon.publish("square #{rep.port}")
    puts "ready at #{rep.last_endpoint}"
    rep.serve { |number| "#{Integer(number)**2}, says #{name}" }
  end
end
