# frozen_string_literal: true

# godwit_log_fair.rb COUNT ENDPOINT: reads records until COUNT of the program "slow" have come, and
# tells how late those were. It says that it is ready again when the flood is there.
require_relative "common"
require "godwit"

count, endpoint = Integer(ARGV[0]), ARGV[1]
source = Godwit::Logger::Reader.new(endpoint)
Common.ready(source.last_endpoint)
lags = []
seen = 0
first = nil
source.each do |record|
  if (seen += 1) == 10_000
    first = Common.now
    Common.ready(source.last_endpoint)
  end
  next unless record.prog == "slow"
  lags << Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond) - record.t_ns
  break if lags.size == count
end
sorted = lags.drop(count / 10).sort # the first of all warm up
Common.say(
  program: "godwit_log_fair", rate: (seen - 10_000) / ((Common.now - first) / 1e9),
  p50_us: Common.percentile(sorted, 50), p99_us: Common.percentile(sorted, 99),
  most_us: sorted.last / 1e3
)
