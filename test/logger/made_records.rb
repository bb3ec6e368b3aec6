# frozen_string_literal: true

require "godwit/logger"

# Makes records as a logger sends them, without a logger.
module MadeRecords
  WRITER = "0123456789abcdef" * 2
  T_NS = 1_790_000_000_123_456_789
  TOPIC = Godwit::Logger.const_get(:Topic)

  # @return [Array<String>] topic, header, text
  def frames(
    seq, level: 1, prog: "billing", host: "web1", writer: WRITER, tseq: seq, text: "text #{seq}",
    **more
  )
    now = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond)
    header = {
      v: 1, writer: writer, seq: seq, tseq: tseq, t_ns: now, mono_ns: now, level: level, pid: 4242,
      host: host, prog: prog, **more
    }
    [TOPIC.build(level, prog, host), JSON.generate(header), text]
  end

  # @return [Godwit::Logger::Record] of the time {T_NS}
  def record(text, seq: 1, **header)
    Godwit::Logger::Record.parse(frames(seq, text: text, t_ns: T_NS, **header))
  end

  # @return [Array<Godwit::Logger::Record>] of the time {T_NS}
  def records(count) = (1..count).map { |seq| record("record #{seq}", seq: seq) }

  # @param records [Array<Array<String>>] the frames of each record
  # @return [Array<String>] the frames of one message with all these records
  def batch(records)
    packing = Godwit::Logger.const_get(:Packing)
    [packing::BATCH, packing.join(records.map { |frames| packing.pack(*frames) }, 0, 1 << 30).first]
  end

  # @return [String] a distinct id for each number
  def writer(number) = format("%032x", number)

  # @return [String] a line as Ruby's Logger writes it
  def line(text, level: "ERROR", prog: "old")
    "#{level[0]}, [2026-11-21T19:52:01.123456 #4711] #{level.rjust(5)} -- #{prog}: #{text}\n"
  end

  # @return [Array<Array<String>>] messages that are neither records nor lines
  def foreign
    [
      %w[a b],
      %w[a b c],
      %w[ERROR.billing.web1. {} x],
      ["ERROR.billing.web1.", "\xff\x00", "x"],
      Array.new(7, "x"),
      ["", "", ""],
      ["ERROR.billing.web1", frames(1)[1], "no dot at the end"],
      ["LOUD.billing.web1.", frames(1)[1], "no such level"],
      ["INFO.a.b.", %({"v":1,"writer":"#{WRITER}","seq":0,"tseq":1,"t_ns":1,), "seq 0"],
      [
        "INFO.a.b.", %({"v":1,"writer":"#{WRITER}","seq":99999999999999999999,"tseq":1,"t_ns":1,),
        "seq of 20 digits"
      ]
    ]
  end
end
