# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    class Reader
      # What a reader received from one writer, and what it missed. A writer numbers its records: a
      # missing number is a record that was lost on the way, or that the writer dropped.
      #
      # `last - first + 1 == received + lost`, except in a reader that subscribed to some topics.
      class WriterStatistics
        MAX_TOPICS = 1000
        MAX_GAPS = LoggerConstants::GAPS
        private_constant :MAX_TOPICS, :MAX_GAPS

        # @return [String] the writer's id, 32 hexadecimal digits
        attr_reader :writer
        # @return [String] program and host of the first record that came
        attr_reader :prog, :host
        # @return [Integer] records that came, each once
        attr_reader :received
        # @return [Integer] records that did not come
        attr_reader :lost
        # @return [Integer] records that came again, or after a later one. The latter count in
        #   {#received} too, if the reader gets all topics and remembers the gap (8 per writer)
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
          @gaps = [] # [first, last] of each range of missing numbers, ascending
          @topics = nil
        end

        # @private
        def record(seq, time)
          @time = time
          if seq > @last
            add_gap(@last + 1, seq - 1) if seq > @last + 1
            @lost += seq - @last - 1
            @last = seq
          else
            @late += 1
            return unless fill_gap?(seq)
            @lost -= 1
          end
          @received += 1
        end

        # Counts a record for a reader of some topics: each topic has numbers of its own (tseq).
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

        private

        def add_gap(first, last)
          @gaps.shift if @gaps.size >= MAX_GAPS
          @gaps << [first, last]
        end

        # @return [Boolean] whether the number was in a gap; the call removes it from the gap
        def fill_gap?(number)
          index = @gaps.index { |first, last| number.between?(first, last) } or return false
          first, last = @gaps.delete_at(index)
          @gaps.insert(index, [number + 1, last]) if number < last
          @gaps.insert(index, [first, number - 1]) if number > first && @gaps.size < MAX_GAPS
          true
        end
      end
    end
  end
end
