# frozen_string_literal: true

# work_handle.rb PLACE HOW COUNT raw|json GROUP [TOPIC]: handles COUNT records with Godwit's Runner,
# then ends. HOW is
#   consume: in batches; perform: by key; partition: in each partition one by one
#   sleep: by key, 1 ms a record; delays: as work_stamps.rb sends them
#   slow: 10 ms a record, for SECONDS=COUNT, then tells the memory
require_relative "work_common"
require "godwit/work"

PLACE, HOW, COUNT, FORMAT, GROUP = ARGV[0], ARGV[1], Float(ARGV[2]), ARGV[3], ARGV[4]
TOPIC = ARGV[5] || "bench"
Godwit::Work.connect(WorkCommon.url(PLACE))
ENDED = Thread::Queue.new
TALLY = WorkCommon.tally(HOW, COUNT.to_i) { ENDED << true }

# The consumer of all runs; its handler is one of those below.
class Handles < Godwit::Work::Consumer
  topic TOPIC, format: FORMAT.to_sym
  group GROUP
  parallel by: :key unless %w[consume partition].include?(HOW)

  if HOW == "consume" && FORMAT == "json"
    def consume(batch) = batch.each { |message| TALLY.touch_object(message.value) }
  elsif HOW == "consume"
    def consume(batch) = batch.each { |message| TALLY.touch(message.raw) }
  elsif HOW == "slow"
    def perform(message)
      message.raw.getbyte(0)
      sleep 0.01
    end
  elsif HOW == "sleep"
    def perform(message)
      sleep 0.001
      TALLY.touch(message.raw)
    end
  elsif FORMAT == "json"
    def perform(message) = TALLY.touch_object(message.value)
  else
    def perform(message) = TALLY.touch(message.raw)
  end
end

runner = Godwit::Work::Runner.new([Handles], workers: WorkCommon::WORKERS)
running = Thread.new { runner.run }
sleep 0.001 until runner.started? || !running.alive?
Common.ready(PLACE) if HOW == "delays"
if HOW == "slow"
  sleep COUNT
  rss, peak = WorkCommon.memory
  Common.say(rss: rss, peak: peak)
else
  ENDED.pop
end
runner.stop
running.join
