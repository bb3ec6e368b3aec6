# frozen_string_literal: true

# Tells the broker that it is idle, and handles the requests that it gets. A request takes WORK
# seconds.
#
#   ruby -Ilib examples/guide/load_balancing/worker.rb [BACKEND [WORK]]
require "godwit"

work = Float(ARGV[1] || 0.01)
%w[INT TERM].each { |signal| trap(signal) { exit } }
$stdout.sync = true
done = 0

Godwit::REQ.connect(ARGV[0] || "tcp://127.0.0.1:5673", linger: 0, count_peers: true) do |req|
  req.wait_connected
  req << "READY"
  puts "ready"
  req.each do |client, _, text|
    sleep work
    req << [client, "", text.upcase]
    done += 1
  end
ensure
  puts "did #{done} requests"
end
