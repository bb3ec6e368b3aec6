# frozen_string_literal: true

# Counts the lines of log_writer.rb up to the expected last one, and further lines for 100 ms.
# Written for rbczmq.
#
#   ruby -rgodwit/compat/rbczmq log_reader.rb [ENDPOINT] [LAST]
require "zmq"

ctx = ZMQ::Context.new
pull = ctx.socket(:PULL)
puts "reading on port #{pull.bind(ARGV[0] || "tcp://127.0.0.1:5556")}"
$stdout.flush

lines = [pull.recv]
lines << pull.recv until lines.last.include?(ARGV[1] || "line 9999")
pull.rcvtimeo = 100
while (line = pull.recv)
  lines << line
end

puts "#{lines.size} lines, #{lines.uniq.size} of them different, " \
  "#{lines.grep(/ ERROR: /).size} errors"
puts "first: #{lines.first}", "last: #{lines.last}"
ctx.destroy
