# frozen_string_literal: true

# Forwards lines of log_writer.rb to all subscribers (log_subscriber.rb), until Ctrl-C. Written for
# rbczmq.
#
#   ruby -rgodwit/compat/rbczmq log_broadcaster.rb [FROM] [TO]
require "zmq"

ctx = ZMQ::Context.new
pull = ctx.socket(:PULL)
pub = ctx.socket(:PUB)
pub.sndhwm = 100_000
from = pull.bind(ARGV[0] || "tcp://127.0.0.1:5556")
to = pub.bind(ARGV[1] || "tcp://127.0.0.1:5557")
puts "from port #{from} to port #{to}"
$stdout.flush

trap(:INT) { puts "interrupted" }

passed = 0
while (line = pull.recv) # nil when a signal was handled
  pub.send(line)
  passed += 1
end

puts "#{passed} lines passed on"
ctx.destroy
