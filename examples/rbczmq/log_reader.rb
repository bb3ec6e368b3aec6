# frozen_string_literal: true

# Counts the lines of log_writer.rb, until none has come for as many milliseconds as the second argument says. Written for rbczmq.
#
#   ruby -rgodwit/compat/rbczmq log_reader.rb [ENDPOINT] [PATIENCE]
require "zmq"

ctx = ZMQ::Context.new
pull = ctx.socket(:PULL)
puts "reading on port #{pull.bind(ARGV[0] || "tcp://127.0.0.1:5556")}"
$stdout.flush

lines = [pull.recv]
pull.rcvtimeo = Integer(ARGV[1] || 1000)
while (line = pull.recv)
  lines << line
end

puts "#{lines.size} lines, #{lines.uniq.size} of them different, #{lines.grep(/ ERROR: /).size} errors"
puts "first: #{lines.first}", "last: #{lines.last}"
ctx.destroy
