# frozen_string_literal: true

# Sends COUNT numbers to a server that may be absent for a while. A request without a reply in
# TIMEOUT seconds is repeated on a new connection, RETRIES times; then the client gives up.
#
#   ruby -Ilib examples/guide/lazy_pirate/client.rb [ENDPOINT [COUNT [TIMEOUT [RETRIES]]]]
#
# This is also the client of the simple and the paranoid pirate: pass their queue's FRONTEND.
require "godwit"

count = Integer(ARGV[1] || 20)
timeout = Float(ARGV[2] || 2.5)
retries = Integer(ARGV[3] || 3)
%w[INT TERM].each { |signal| trap(signal) { exit } }
$stdout.sync = true

Godwit::REQ.connect(ARGV[0] || "tcp://127.0.0.1:5555", linger: 0) do |req|
  count.times do |number|
    square = req.request(number.to_s, timeout: timeout, retries: retries)
    puts "#{number} squared is #{square}"
  end
rescue Godwit::TimeoutError
  abort "no reply in #{retries + 1} times #{timeout} s: the server seems to be gone for good"
end
