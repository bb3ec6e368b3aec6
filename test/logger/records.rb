# frozen_string_literal: true

require "securerandom"

module LoggerTests
  # Records as a writer would have sent them.
  module Records
    WRITER = "0123456789abcdef" * 2
    T_NS = 1_790_000_000_123_456_789

    # @return [Godwit::Logger::Record]
    def record(text, seq: 1, tseq: seq, writer: WRITER, level: "INFO", prog: "billing", **more)
      header = {v: 1, writer: writer, seq: seq, tseq: tseq, t_ns: T_NS, mono_ns: 1, pid: 42, **more}
      Godwit::Logger::Record.parse(["#{level}.#{prog}.web1.".b, JSON.generate(header).b, text.b])
    end

    # @return [Array<Godwit::Logger::Record>]
    def records(count, **options)
      (1..count).map { |seq| record("record #{seq}", seq: seq, **options) }
    end
  end
end
