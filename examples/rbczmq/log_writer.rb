# frozen_string_literal: true

# Writes 10,000 lines to log_reader.rb or log_broadcaster.rb. Written for rbczmq.
#
#   ruby -rgodwit/compat/rbczmq log_writer.rb [ENDPOINT] [NAME]
require "zmq"

LINES = 10_000

ctx = ZMQ::Context.new
push = ctx.connect(:PUSH, ARGV[0] || "tcp://127.0.0.1:5556")

log = ZMQ::Logger.new(push)
log.progname = ARGV[1] || "writer"
log.formatter = proc { |severity, _time, progname, message| "#{progname} #{severity}: #{message}" }

LINES.times do |number|
  (number % 100 == 99) ? log.error("line #{number} went wrong") : log.info("line #{number}")
end
