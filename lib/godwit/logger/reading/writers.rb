# frozen_string_literal: true

require_relative "../wire/record"

module Godwit
  class Logger < ::Logger
    # The missing numbers of one writer's records, at most {MAX} ranges. Records of a spool, for
    # example, may arrive after later ones. ext/godwit/logger_statistics.c does the same.
    class Gaps
      MAX = Constants::LOG_GAPS

      def initialize
        @ranges = [] # [first, last], ascending
      end

      def add(first, last)
        @ranges.shift if @ranges.size >= MAX
        @ranges << [first, last]
      end

      # @return [Boolean] whether the number was missing; it is not any more
      def fill?(number)
        index = @ranges.index { |first, last| number.between?(first, last) } or return false
        first, last = @ranges.delete_at(index)
        @ranges.insert(index, [number + 1, last]) if number < last
        @ranges.insert(index, [first, number - 1]) if number > first && @ranges.size < MAX
        true
      end
    end
    private_constant :Gaps

    class Reader
      # The statistics of all writers that a reader remembers, and the counts of plain lines and
      # foreign messages. Not thread-safe.
      class Writers
        # Writers that are remembered. At this number the tenth that was idle for longest is
        # forgotten; its counts stay in the sums.
        MAX = 10_000

        attr_reader :plain, :foreign
        # Seconds since 1970, for the next records.
        attr_accessor :time

        # @param topics [Boolean] whether only some topics come
        # @param known [Array<WriterStatistics>, nil] then other writers begin with seq 1
        def initialize(topics: false, known: nil, most: MAX)
          @by_topic = topics
          @from_one = !known.nil?
          @most = most
          @writers = (known || []).to_h { |one| [one.writer, one] }
          @memory = Topic.memory
          @plain = @foreign = 0
          @forgotten = {received: 0, lost: 0, late: 0}
          @time = 0.0
        end

        # Counts a message.
        def take(message)
          record = Record.parse(message, @memory)
          if !record
            @foreign += 1
          elsif record.plain?
            @plain += 1
          else
            count(record)
          end
          record
        end

        def received = sum(:received) + @plain
        def lost = sum(:lost)
        def late = sum(:late)
        def to_a = @writers.each_value.map { |one| one.dup.freeze }

        private

        def count(record)
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
          writer = record.writer.dup.force_encoding(Encoding::UTF_8).freeze
          first = (@from_one && !@by_topic) ? 1 : seq
          @writers[writer] =
            WriterStatistics.new(writer, first, prog: record.prog, host: record.host)
        end

        # A forgotten writer that sends again begins with the seq of that record.
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

      # What a reader received of one writer, and what it missed. A writer numbers its records: a
      # missing number is a record that was lost on the way, or that the writer dropped.
      #
      # `last - first + 1 == received + lost`, except in a reader that subscribed to some topics.
      class WriterStatistics
        # @return [String] the writer's id, 32 hexadecimal digits
        attr_reader :writer
        # @return [String] program and host of the first record that came
        attr_reader :prog, :host
        # @return [Integer] records that came, each once
        attr_reader :received
        # @return [Integer] records that did not come
        attr_reader :lost
        # @return [Integer] records that came again, or after a later one. The latter are in
        #   {#received} too, if the reader gets all topics and remembers the gap (8 of a writer)
        attr_reader :late
        # @return [Integer] the seq where counting began: that of the first record, or 1
        attr_reader :first
        # @return [Integer] the highest seq that came
        attr_reader :last
        # @return [Float] seconds since 1970, by this machine's clock, when the last record was read
        attr_reader :time

        # @private
        def initialize(writer, first, prog: nil, host: nil, last: first - 1, received: 0, lost: 0,
          late: 0, time: 0.0)
          @writer = writer
          @prog = prog
          @host = host
          @first = first
          @last = last
          @received = received
          @lost = lost
          @late = late
          @time = time
          @gaps = Gaps.new
          @topics = nil
        end

        # @private
        def record(seq, time)
          @time = time
          if seq > @last
            @gaps.add(@last + 1, seq - 1) if seq > @last + 1
            @lost += seq - @last - 1
            @last = seq
          else
            @late += 1
            return unless @gaps.fill?(seq)
            @lost -= 1
          end
          @received += 1
        end

        # For a reader of some topics: gaps show within each topic.
        # @private
        def record_topic(topic, tseq, seq, time)
          @time = time
          @topics ||= {}
          last = @topics[topic] || tseq - 1
          @last = seq if seq > @last
          return @late += 1 if tseq <= last
          @topics.clear if @topics.size >= MAX_TOPICS
          @lost += tseq - last - 1
          @topics[topic] = tseq
          @received += 1
        end

        # @private
        MAX_TOPICS = 1000

        # @return [Hash{String => Object}] all values by name
        def to_h
          {"writer" => writer, "prog" => prog, "host" => host, "received" => received,
           "lost" => lost, "late" => late, "first" => first, "last" => last, "time" => time}
        end

        # @return [String]
        def inspect
          "#<#{self.class} #{writer} #{prog}@#{host} received #{received}, lost #{lost}, " \
          "late #{late}, #{first}..#{last}>"
        end
      end
    end
  end
end
