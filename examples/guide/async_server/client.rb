# frozen_string_literal: true

# Sends a request every INTERVAL seconds, COUNT in all, and receives replies as they arrive.
#
#   ruby -Ilib examples/guide/async_server/client.rb [ENDPOINT [COUNT [INTERVAL]]]
require "godwit"

dealer = Godwit::DEALER.connect(ARGV[0] || "tcp://127.0.0.1:5570", linger: 0)
count = Integer(ARGV[1] || 10)
open = {} # requests that are not answered yet

Godwit::Loop.run do |loop|
  %w[INT TERM].each { |signal| trap(signal) { loop.stop } }

  sending = loop.every(Float(ARGV[2] || 0.1), times: count) do |timer|
    request = "request #{timer.fired}"
    open[request] = true
    dealer << request
  end

  loop.readable(dealer) do
    request, part = dealer.recv
    puts "#{request}: part #{part}"
    part, of = part.split("/")
    open.delete(request) if part == of
    loop.stop if open.empty? && !sending.pending?
  end
end
puts "#{open.size} of #{count} requests got no answer"
dealer.close
