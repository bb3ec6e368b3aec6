# frozen_string_literal: true

# Logs as fast as it can: ruby -Ilib examples/logger/writer.rb ENDPOINT PROGRAM [COUNT]
# The records go to examples/logger/reader.rb, `godwit log tail ENDPOINT --bind` or
# `godwit log serve --in ENDPOINT`.
require "godwit"

endpoint, program, count = ARGV
abort "usage: writer.rb ENDPOINT PROGRAM [COUNT]" unless program
count = Integer(count || 50_000)

log = Godwit::Logger.new(endpoint, progname: program)
log.tagged("req-9") do
  count.times do |number|
    log.warn("card refused", user: 42, order: number)
    $stdout.syswrite("half of it is logged\n") if number == count / 2
  end
end
log.info("that was all", made: count + 1) # this one too
log.close # waits until all has gone, 5 seconds at most
puts "#{program}: logged #{count + 1}, dropped #{log.stats.dropped}"
