# frozen_string_literal: true

# godwit_log_writer.rb records|numbers|plain|way|stored COUNT ENDPOINT: writes COUNT records, tells
# what they cost until the last was sent.
#   stored: records that were encoded before, as fast as a PUSH takes them, to have the broadcaster
#   alone at work
require_relative "log_loop"
require "godwit"

# Records as a writer sends them.
module Stored
  module_function

  def messages(count)
    writer = format("%032x", Process.pid)
    Array.new(count) do |index|
      header =
        %({"v":1,"writer":"#{writer}","seq":#{index + 1},"tseq":#{index + 1},) +
        %("t_ns":#{Common.now},"mono_ns":#{Common.now},"level":1,"pid":#{Process.pid},) +
        %("thread":1,"host":"web1","prog":"billing","tags":["req-9"],) +
        %("payload":{"user":42,"order":"A-17"}})
      ["INFO.billing.web1.", header, LogLoop::TEXT]
    end
  end
end

kind, count, target = ARGV[0], Integer(ARGV[1]), ARGV[2]
dropped = 0
stored = Stored.messages(count) if kind == "stored"
result = Common.measure do
  case kind
  when "stored"
    push = Godwit::PUSH.connect(target)
    stored.each_slice(Common::BATCH) { |slice| push.send_many(slice) }
  when "way"
    log = Logger.new(LogLoop::Device.new(target), progname: "billing")
    LogLoop.write_plain(log, count)
  else
    wire = (kind == "plain") ? :plain : :records
    log = Godwit::Logger.new(target, progname: "billing", wire: wire)
    next LogLoop.write_numbers(log, count).tap { log.close } if kind == "numbers"
    if kind == "records"
      log.tagged("req-9") { LogLoop.write_full(log, count) }
    else
      LogLoop.write_plain(log, count)
    end
    sleep 0.002 until (stats = log.stats).sent + stats.dropped >= count
    dropped = stats.dropped
  end
  count
end
Common.say(
  program: "godwit_log_writer", **result, dropped: dropped, rss_kib: Memory.rss_kib,
  bare_kib: Memory::BARE_KIB
)
Common.hold
