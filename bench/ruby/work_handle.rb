# frozen_string_literal: true

# work_handle.rb PATH consume|perform|delays|slow COUNT raw|json GROUP: handles COUNT records with
# Godwit's Runner, then ends.
#   consume: in batches; perform: by key; delays: as work_stamps.rb sends them
#   slow: 10 ms a record, for SECONDS=COUNT, then tells the memory
require_relative "work_common"
require "godwit/work"

PATH, HOW, COUNT, FORMAT, GROUP = ARGV[0], ARGV[1], Float(ARGV[2]), ARGV[3], ARGV[4]
Godwit::Work.connect("sqlite:#{PATH}")
ENDED = Thread::Queue.new
TALLY = WorkCommon.tally(HOW, COUNT.to_i) { ENDED << true }

# The consumer of all runs; its handler is one of those below.
class Handles < Godwit::Work::Consumer
  topic "bench", format: FORMAT.to_sym
  group GROUP
  parallel by: :key if HOW != "consume"

  if HOW == "consume" && FORMAT == "json"
    def consume(batch) = batch.each { |message| TALLY.touch_object(message.value) }
  elsif HOW == "consume"
    def consume(batch) = batch.each { |message| TALLY.touch(message.raw) }
  elsif HOW == "slow"
    def perform(message)
      message.raw.getbyte(0)
      sleep 0.01
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
Common.ready(PATH) if HOW == "delays"
if HOW == "slow"
  sleep COUNT
  status = File.read("/proc/self/status")
  rss, peak = %w[VmRSS VmHWM].map { |name| status[/^#{name}:\s+(\d+)/, 1].to_i / 1024.0 }
  Common.say(rss: rss, peak: peak)
else
  ENDED.pop
end
runner.stop
running.join
