# frozen_string_literal: true

# Stands between publishers and subscribers, and gives each new subscriber the last value of what it asks for at once.
#
#   ruby -Ilib examples/guide/last_value_cache/cache.rb [FRONTEND [BACKEND]]
#
# Publishers connect to FRONTEND, subscribers to BACKEND. Ctrl-C ends it.
require "godwit"

frontend = Godwit::SUB.bind(ARGV[0] || "tcp://127.0.0.1:5557", subscribe: "")
# verbose: it tells us of every subscription, also of one to a topic that others have asked for before
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
    # Whoever has asked for these before gets them once more: a last value may come twice.
    values.each { |topic, value| backend << [topic, *value] if topic.start_with?(prefix) }
  end
end
puts "#{values.size} topics"
[frontend, backend].each(&:close)
