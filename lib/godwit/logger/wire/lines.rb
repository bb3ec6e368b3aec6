# frozen_string_literal: true

require_relative "topic"

module Godwit
  class Logger < ::Logger
    # Makes all lines in the format of Ruby's Logger: {Record#to_s}, a {Sink}'s file and
    # `wire: :plain`. It keeps the text of the last second, and cuts numbers out of a header.
    # Any number of threads may call it.
    class Lines
      # The start of each header that Godwit writes; its keys have a fixed order.
      HEAD = /\A\{"v":1,"writer":"\h{32}","seq":\d{1,19},"tseq":\d{1,19},"t_ns":(\d{1,19}),
        "mono_ns":\d+,"level":\d,"pid":(\d+)/nx
      BILLION = 1_000_000_000
      # Before the time, and after the process id.
      STARTS = Levels::LABELS.to_h do |label|
        [label, ["#{label[0]}, [", "] #{label.rjust(5)} -- "]]
      end.freeze
      private_constant :HEAD, :BILLION, :STARTS

      # @param most [Integer] bytes of one write; one line may be longer
      # @return [Array(Integer, Integer)] how many lines from the index on go, and their bytes
      def self.part(lines, index, most)
        bytes = lines[index].bytesize
        count = 1
        while index + count < lines.size && bytes + lines[index + count].bytesize <= most
          bytes += lines[index + count].bytesize
          count += 1
        end
        [count, bytes]
      end

      def call(record)
        match = HEAD.match(record.frames[1]) if record.is_a?(Record) && !record.plain?
        return record.to_s unless match
        "#{build(record.label, match[1].to_i, match[2], record.prog, record.text_with_error)}\n"
      end

      def build(label, t_ns, pid, prog, text)
        second, rest = t_ns.divmod(BILLION)
        before, after = STARTS.fetch(label)
        micros = (rest / 1000 + 1_000_000).to_s.byteslice(1, 6)
        "#{before}#{at(second)}.#{micros} ##{pid}#{after}#{prog}: #{text}"
      end

      private

      def at(second)
        known, text = @second
        return text if known == second
        text = Time.at(second).strftime("%Y-%m-%dT%H:%M:%S")
        @second = [second, text].freeze
        text
      end
    end
    private_constant :Lines
  end
end
