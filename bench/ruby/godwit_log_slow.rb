# frozen_string_literal: true

# godwit_log_slow.rb WRITERS COUNT ENDPOINT: that many loggers of the program "slow", which write
# COUNT records together, one in a millisecond.
require_relative "common"
require "godwit"

writers, count = ARGV.first(2).map { |text| Integer(text) }
logs = Array.new(writers) { Godwit::Logger.new(ARGV[2], progname: "slow") }
count.times do |number|
  logs[number % writers].info("something happens now and then")
  sleep 0.001
end
Common.hold
