# frozen_string_literal: true

require_relative "record"
require_relative "gaps"
require_relative "packing"

module Godwit
  class Logger < ::Logger
    # What a broadcaster remembers of the records that pass through its proxy.
    # ext/godwit/logger_statistics.c does the same.
    # @private
    class Statistics
      # id, prog, host, first, last, received, lost, late, bytes, lag, longest lag (ns), when it was
      # heard (ms), records of each level.
      WriterStatistics =
        Struct.new(
          :writer, :prog, :host, :first, :last, :received, :lost, :late, :bytes, :lag, :longest_lag,
          :heard, :levels, :gaps
        )
      # Bytes of a program or host; a longer one is cut.
      NAME = Constants::LOG_NAME_BYTES
      TOTALS = %i[messages bytes records plain foreign lost late].freeze
      MOST_NUMBER = 10**Constants::LOG_DIGITS
      MOST_TIME = (1 << 63) - 1
      private_constant :WriterStatistics, :NAME, :TOTALS, :MOST_NUMBER, :MOST_TIME

      # @param most [Integer] records to keep
      # @param bytes [Integer] for them
      # @param writers [Integer] to remember
      def open(most, bytes, writers)
        raise "these statistics are open already" if @lock
        @most = most
        @most_bytes = bytes
        @most_writers = writers
        @writers = {} # in the order in which they were heard
        @kept = []
        @kept_bytes = @forgotten = 0
        @totals = TOTALS.to_h { |name| [name, 0] }
        @levels = [0] * 6
        @memory = Topic.memory
        @of_line = Levels.method(:of_line)
        @pid = Process.pid
        @lock = Mutex.new
        self
      end

      # As the proxy does it.
      # @param frames [Array<String>] of a message
      def record(frames)
        guarded(:record) do
          bytes = frames.sum(&:bytesize)
          @totals[:messages] += 1
          @totals[:bytes] += bytes
          take(Record.parse(frames, @memory), frames, bytes)
        end
        self
      end

      # @return [Array<Array<String>>, nil] what a proxy passes on instead of a batch; nil: the
      #   message as it is
      def split(frames) = Packing.split(frames)

      # @return [Array<Array<String>>] the last ones, the oldest first
      def messages(most) = guarded(:last) { @kept.last(most).map(&:dup) }

      # @return [Array<Array>] of the writers that were heard last, the newest first
      def writers(most)
        now = milliseconds
        guarded(:writers) { @writers.each_value.to_a.last(most).reverse }.map do |one|
          values = one.to_a
          [*values[0, 11], now - one.heard, *one.levels]
        end
      end

      # @return [Array<Integer>] messages, bytes, records, plain, foreign, lost, late, writers,
      #   forgotten, kept, and of each level
      def totals
        guarded(:totals) { [*@totals.values, @writers.size, @forgotten, @kept.size, *@levels] }
      end

      private

      # In a forked child the lock may be one that nobody will release.
      def guarded(operation, &block)
        raise "these statistics were never opened" unless @lock
        raise Errors.build(ForkedError, operation) if @pid != Process.pid
        @lock.synchronize(&block)
      end

      def milliseconds = Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond)

      def take(record, frames, bytes)
        if record.nil? || !(record.plain? || record.ours? || within_bounds?(record))
          @totals[:foreign] += 1
          return
        end
        record.plain? ? @totals[:plain] += 1 : count(record, bytes)
        @levels[record.plain? ? @of_line.call(record.frames.first) : record.level] += 1
        keep(frames, bytes)
      end

      # SequenceCounter of the width that C has for them, and an id.
      def within_bounds?(record)
        record.writer.match?(/\A\h{32}\z/) &&
          [record.seq, record.tseq].all? { |number| number < MOST_NUMBER } &&
          record.t_ns.between?(0, MOST_TIME)
      end

      def count(record, bytes)
        @totals[:records] += 1
        one = statistics_of(record)
        seq = record.seq
        if seq > one.last
          lost = seq - one.last - 1
          one.gaps.add(one.last + 1, seq - 1) if lost.positive?
          one.lost += lost
          @totals[:lost] += lost
          one.last = seq
          one.received += 1
        else
          one.late += 1
          @totals[:late] += 1
          if one.gaps.fill?(seq)
            one.lost -= 1
            @totals[:lost] -= 1
            one.received += 1
          end
        end
        one.bytes += bytes
        one.levels[record.level] += 1
        one.lag = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond) - record.t_ns
        one.longest_lag = one.lag if one.lag > one.longest_lag
        one.heard = milliseconds
      end

      def statistics_of(record)
        writer = record.writer.downcase
        one = @writers.delete(writer)
        unless one
          if @writers.size >= @most_writers
            @writers.shift
            @forgotten += 1
          end
          _, prog, host = record.frames.first.split(".", 3)
          one =
            WriterStatistics.new(
              writer, prog.b.byteslice(0, NAME), host.delete_suffix(".").b.byteslice(0, NAME),
              record.seq, record.seq - 1, 0, 0, 0, 0, 0, 0, 0, [0] * 6, Gaps.new
            )
        end
        @writers[one.writer] = one
      end

      def keep(frames, bytes)
        return if @most.zero? || bytes > @most_bytes / 4
        @kept << frames
        @kept_bytes += bytes
        @kept_bytes -= @kept.shift.sum(&:bytesize) while @kept.size > @most ||
            @kept_bytes > @most_bytes
      end
    end
    private_constant :Statistics
  end
end
