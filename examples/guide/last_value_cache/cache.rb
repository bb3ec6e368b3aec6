# frozen_string_literal: true

# Forwards messages from publishers to subscribers, and sends each new subscriber the last value of
# its topic at once.
#
#   ruby -Ilib examples/guide/last_value_cache/cache.rb [FRONTEND [BACKEND]]
#
# Publishers connect to FRONTEND, subscribers to BACKEND. Ctrl-C ends it.
require "godwit"

frontend = Godwit::SUB.bind(ARGV[0] || "tcp://127.0.0.1:5557", subscribe: "")
# verbose: the XPUB receives every subscription, also to a topic with earlier subscribers
backend = Godwit::XPUB.bind(ARGV[1] || "tcp://127.0.0.1:5558", xpub_verbose: true)
$stdout.sync = true
puts "ready at #{frontend.last_endpoint} for publishers, #{backend.last_endpoint} for subscribers"
values = {}

Godwit::Loop.run do |loop|
  %w[INT TERM].each { |signal| trap(signal) { loop.stop } }

  loop.readable(frontend) do
    topic, *value = frontend.recv_multipart
    values[topic] = value
    backend << [topic, *value]
    puts "#{topic} is #{value.join(" ")}"
  end

  loop.readable(backend) do
    subscribe, prefix = backend.recv_string.unpack("Ca*")
    next if subscribe.zero?
    # Earlier subscribers of the topic get the value again: a last value may arrive twice.
    values.each { |topic, value| backend << [topic, *value] if topic.start_with?(prefix) }
  end
end
puts "#{values.size} topics"
[frontend, backend].each(&:close)
