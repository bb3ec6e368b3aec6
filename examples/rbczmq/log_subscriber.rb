# frozen_string_literal: true

# Counts the lines of log_broadcaster.rb that begin with its filter, up to the expected last one.
# Written for rbczmq.
#
#   ruby -rgodwit/compat/rbczmq log_subscriber.rb [ENDPOINT] [FILTER] [LAST]
require "rbczmq"

ctx = ZMQ::Context.new
sub = ctx.socket(:SUB)
sub.rcvhwm = 100_000
sub.subscribe(ARGV[1] || "")
sub.connect(ARGV[0] || "tcp://127.0.0.1:5557")

count = 0
line = ""
until line.include?(ARGV[2] || "line 9999")
  line = sub.recv
  puts "subscribed" if count.zero?
  $stdout.flush
  count += 1
end

puts "#{count} lines, the last of them: #{line}"
ctx.destroy
