# frozen_string_literal: true

# godwit_log_calls.rb null|file|way|records|plain|full COUNT ENDPOINT-OR-PATH: what one call of
# `info` costs.
#   null, file     Ruby's Logger to an opened /dev/null, to a file
#   way            Ruby's Logger whose device sends each line
#   records, plain Godwit::Logger, in either form on the wire
#   full           Godwit::Logger with no reader and its queue at its bound
require_relative "log_loop"
require "godwit" unless %w[null file].include?(ARGV[0])

kind, count, target = ARGV[0], Integer(ARGV[1]), ARGV[2]
nothing = ->(_) {}
result =
  case kind
  when "null" then LogLoop.run(Logger.new(File.open(File::NULL, "w")), count, false, &nothing)
  when "file" then LogLoop.run(Logger.new(target), count, false, &nothing)
  when "way" then LogLoop.run(Logger.new(LogLoop::Device.new(target)), count, false, &nothing)
  when "records", "plain"
    log = Godwit::Logger.new(target, progname: "billing", wire: kind.to_sym)
    sent = lambda do |goal|
      sleep 0.002 until (stats = log.stats).sent + stats.dropped >= goal
    end
    result =
      (
        if kind == "records"
          log.tagged("req-9") { LogLoop.run(log, count, true, &sent) }
        else
          LogLoop.run(log, count, false, &sent)
        end
      )
    result.merge(dropped: log.stats.dropped)
  when "full"
    log = Godwit::Logger.new(target, progname: "billing", linger: 0)
    log
      .tagged("req-9") { LogLoop.run(log, count, true, &nothing) }
      .merge(dropped: log.stats.dropped)
  end
Common.say(program: "godwit_log_calls", **result)
