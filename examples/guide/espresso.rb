# frozen_string_literal: true

# A forwarder between a publisher and a subscriber, with a listener that receives a copy of every
# message and subscription.
#
#   ruby -Ilib examples/guide/espresso.rb [FRONTEND [BACKEND [CAPTURE]]]
require "godwit"

frontend = ARGV[0] || "inproc://frontend"
backend = ARGV[1] || "inproc://backend"
capture = ARGV[2] || "inproc://capture"

# The proxy's sockets are bound, and the proxy starts later, so the listener misses no message.
proxy = Godwit::Proxy.forwarder(frontend, backend, capture: capture)
listener = Godwit::SUB.connect(proxy.capture.last_endpoint, subscribe: "")
proxy.capture.wait_connected
proxy.start

subscriber = Thread.new do
  Godwit::SUB.connect(proxy.backend.last_endpoint, subscribe: %w[A B]) do |sub|
    sub.each.first(5).each { |message| puts "subscriber: #{message}" }
  end
end

publisher = Thread.new do
  Godwit::PUB.connect(proxy.frontend.last_endpoint) do |pub|
    pub.wait_connected(count: 2) # both subscriptions have come up through the proxy
    # The PUB drops C, D and E: they have no subscriber.
    11.times { |number| pub << "#{%w[A B C D E][number % 5]}-#{number}" }
  end
end

# Subscriptions go from back to front: one byte (1 for subscribe, 0 for unsubscribe) and the topic.
ended = 0
until ended == 2
  message = listener.recv
  puts case message.getbyte(0)
  when 1 then "listener:   subscription to #{message[1..]}"
  when 0 then "listener:   end of the subscription to #{message[1..]}"
  else "listener:   #{message}"
  end
  ended += 1 if message.getbyte(0).zero?
end

[subscriber, publisher].each(&:join)
puts "#{proxy.statistics.frontend.received} messages went through"
proxy.close
listener.close
