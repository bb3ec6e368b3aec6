# frozen_string_literal: true

# godwit_log_reader.rb fields|parsed|lines COUNT ENDPOINT [subscribe]: reads COUNT records, of which
# the first tenth only warms up.
#   fields: level, program and number of each; parsed: everything; lines: what a PULL receives, as
#   it is
# When nothing has come for 5 s it tells what it got: COUNT less what was lost.
require_relative "common"
require "godwit"

how, count, endpoint, subscribe = ARGV[0], Integer(ARGV[1]), *ARGV.drop(2)
source =
  if how == "lines" then Godwit::PULL.bind(endpoint)
  elsif subscribe then Godwit::Logger::Reader.subscribe(endpoint, recv_hwm: 0)
  else Godwit::Logger::Reader.new(endpoint)
  end
Common.ready(source.last_endpoint)
seen = 0
first = last = cpu = nil
warmup = count / 11
watch = Thread.new do
  before = nil
  loop do
    sleep 5
    break source.close if seen == before && seen > 0
    before = seen
  end
end
step = lambda do |_|
  seen += 1
  if seen == warmup
    first = Common.now
    cpu = Common.cpu
  end
end
take =
  case how
  when "fields"
    ->(record) { step.call([record.level, record.prog, record.seq]) }
  when "parsed"
    ->(record) do
      step.call(
        [
          record.level, record.prog, record.seq, record.time, record.text, record.tags,
          record.payload, record.pid, record.host
        ]
      )
    end
  else
    step
  end
source.each do |record|
  take.call(record)
  last = Common.now if seen & 1023 == 0 || seen == count
  break if seen == count
end
watch.kill
# A PUB drops what a subscriber does not take in time.
abort "only #{seen} of #{count} records came" if seen < count / (subscribe ? 20 : 4)
counted = seen - warmup
Common.say(
  program: "godwit_log_reader", seen: seen, rate: counted / ((last - first) / 1e9),
  cpu_ns: (Common.cpu - cpu) / counted.to_f
)
