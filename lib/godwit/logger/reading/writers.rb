# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    class Reader
      # The statistics of all writers that a reader remembers, and the counts of plain lines and
      # foreign messages. Not thread-safe.
      class Writers
        # Most writers that are remembered. When one more comes, the tenth of them that was idle
        # longest is forgotten; their counts stay in the sums.
        MAX = 10_000

        attr_reader :plain, :foreign
        # The time of the records that are counted next, in seconds since 1970.
        attr_accessor :time

        # @param known [Array<WriterStatistics>, nil] if given, other writers are counted from seq 1
        def initialize(topics: false, known: nil, most: MAX)
          @by_topic = topics
          @from_one = !known.nil?
          @most = most
          @writers = (known || []).to_h { |one| [one.writer, one] }
          @plain = @foreign = 0
          @forgotten = {received: 0, lost: 0, late: 0}
          @time = 0.0
        end

        def count(found)
          if !found.is_a?(Record)
            @foreign += 1
          elsif found.plain?
            @plain += 1
          else
            count_record(found)
          end
        end

        def received = sum(:received) + @plain
        def lost = sum(:lost)
        def late = sum(:late)
        def to_a = @writers.each_value.map { |one| one.dup.freeze }

        private

        def count_record(record)
          seq = record.seq
          one = @writers[record.writer] || begin_writer(record, seq)
          if @by_topic
            one.record_topic(record.frames.first, record.tseq, seq, @time)
          else
            one.record(seq, @time)
          end
        end

        def begin_writer(record, seq)
          forget if @writers.size >= @most
          writer = record.writer
          first = (@from_one && !@by_topic) ? 1 : seq
          @writers[writer] =
            WriterStatistics.new(writer, first, prog: record.prog, host: record.host)
        end

        # A forgotten writer that sends again is counted from the seq of its next record.
        def forget
          @from_one = false
          @writers.each_value.min_by([@most / 10, 1].max, &:time).each do |one|
            @writers.delete(one.writer)
            @forgotten.each_key { |name| @forgotten[name] += one.public_send(name) }
          end
        end

        def sum(name) = @forgotten[name] + @writers.each_value.sum(&name)
      end
      private_constant :Writers
    end
  end
end
