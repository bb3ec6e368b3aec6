# frozen_string_literal: true

require_relative "record"

module Godwit
  class Logger < ::Logger
    # Makes the lines of a file: those of {Record#to_s}, in a third of the time, since numbers are
    # cut out of the header and the second's text is kept. Any number of threads may call.
    # @private
    class Lines
      # The head of each header of Godwit's own; its keys have an order.
      PID =
        Regexp.new(
          '\A\{"v":1,"writer":"\h{32}","seq":\d{1,19},"tseq":\d{1,19},"t_ns":(\d{1,19}),' \
          '"mono_ns":\d+,"level":\d,"pid":(\d+)', Regexp::NOENCODING
        )
      BILLION = 1_000_000_000
      # As Ruby's formatter writes them.
      STARTS =
        Levels::LABELS
          .to_h { |label| [label, ["#{label[0]}, [", "] #{label.rjust(5)} -- "]] }
          .freeze

      # How many lines go in one write.
      # @param lines [Array<String>]
      # @param index [Integer] of the first
      # @param most [Integer] bytes; one line may be longer
      # @return [Array(Integer, Integer)] lines, and their bytes
      def self.part(lines, index, most)
        bytes = lines[index].bytesize
        count = 1
        while index + count < lines.size && bytes + lines[index + count].bytesize <= most
          bytes += lines[index + count].bytesize
          count += 1
        end
        [count, bytes]
      end

      def initialize
        @second = [nil, nil]
      end

      # @param record [Record, #to_s]
      # @return [String]
      def call(record)
        match = PID.match(record.frames[1]) if record.is_a?(Record) && !record.plain?
        return record.to_s unless match
        second, rest = match[1].to_i.divmod(BILLION)
        before, after = STARTS.fetch(record.label)
        "#{before}#{at(second)}.#{(rest / 1000).to_s.rjust(6, "0")} " \
        "##{match[2]}#{after}#{record.prog}: #{record.text}\n"
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
