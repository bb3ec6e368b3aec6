# frozen_string_literal: true

# Counts the publisher's messages, and prints whether any was missing.
#
#   ruby -Ilib examples/guide/synchronized/subscriber.rb [ENDPOINT]
require "godwit"

%w[INT TERM].each { |signal| trap(signal) { exit } }

Godwit::SUB.connect(ARGV[0] || "tcp://127.0.0.1:5561", subscribe: "", recv_hwm: 0) do |sub|
  count = 0
  sub.each do |message|
    break if message == "end"
    abort "message #{count} is missing, #{message} came" unless message == count.to_s
    count += 1
  end
  puts "got #{count} messages, none is missing"
end
