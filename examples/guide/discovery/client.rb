# frozen_string_literal: true

# Finds a service by its beacon and sends COUNT numbers to be squared. If the service is gone, it
# searches for another one.
#
#   ruby -Ilib examples/guide/discovery/client.rb [UDP_PORT [COUNT [TIMEOUT [INTERFACE]]]]
require "godwit"

port = Integer(ARGV[0] || 9999)
count = Integer(ARGV[1] || 20)
timeout = Float(ARGV[2] || 1)
%w[INT TERM].each { |signal| trap(signal) { exit } }
$stdout.sync = true

# A new Beacon for each search: the services that an older one has received may no longer exist.
find = lambda do
  address, payload = Godwit::Beacon.new(port, interface: ARGV[3]) do |beacon|
    beacon.subscribe("square ").recv(timeout: 20)
  end
  endpoint = "tcp://#{address}:#{payload.split.last}"
  puts "found #{endpoint}"
  endpoint
end

number = 0
while number < count
  Godwit::REQ.connect(find.call, linger: 0) do |req|
    while number < count
      puts "#{number} squared is #{req.request(number.to_s, timeout: timeout)}"
      number += 1
    end
  rescue Godwit::TimeoutError
    puts "no reply"
  end
end
