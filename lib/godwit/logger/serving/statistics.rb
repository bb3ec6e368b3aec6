# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # What a broadcaster remembers of the records that it publishes. With the C extension,
    # ext/godwit/logger_statistics.c does this instead.
    class Statistics
      # A writer's WriterStatistics, its bytes, its lags in ns, and its records of each level.
      Writer = Struct.new(:counts, :bytes, :lag, :longest_lag, :levels)
      NAME = LoggerConstants::NAME_BYTES # most bytes of a program's or a host's name
      MAX_NUMBER = 10**LoggerConstants::DIGITS # seq and tseq must be smaller, as in C
      MAX_TIME = (1 << 63) - 1 # the latest time of a record (t_ns), as in C

      def open(most, bytes, writers)
        raise "these statistics are open already" if @lock
        @most = most
        @most_bytes = bytes
        @most_writers = writers
        @writers = {} # the writer of the newest record is last
        @stored = []
        @stored_bytes = 0
        @totals = LoggerConstants::TOTALS.to_h { |name| [name.to_sym, 0] }
        @levels = [0] * LoggerConstants::LEVELS
        @memory = Topic.memory
        @pid = Process.pid
        @lock = Mutex.new
        self
      end

      # The proxy or {Publisher#count} calls this method with each message's frames.
      # @param header [Header, nil] nil unless the frames are a record
      def record(frames, header = Record.parse(frames, @memory)&.header)
        guarded(:record) { count_message(frames, header, frames.sum(&:bytesize)) }
        self
      end

      def split(frames) = Packing.split(frames)
      def messages(most) = guarded(:last) { @stored.last(most).map(&:dup) }

      # @return [Array<Array>] for each of the latest writers, the newest first: the values of
      #   {LoggerConstants::WRITER}, then the records of each level; lags in ns, idle in ms
      def writers(most)
        now = milliseconds
        guarded(:writers) { @writers.each_value.to_a.last(most).reverse }.map do |one|
          values = %i[writer prog host first last received lost late].map do |name|
            one.counts.public_send(name)
          end
          [*values, one.bytes, one.lag, one.longest_lag, now - one.counts.time, *one.levels]
        end
      end

      def totals
        guarded(:totals) do
          @totals.update(writers: @writers.size, kept: @stored.size).values + @levels
        end
      end

      private

      # Raises in a forked child, where a mutex that another thread had locked would stay locked.
      def guarded(operation, &block)
        raise "these statistics were never opened" unless @lock
        raise Errors.build(ForkedError, operation) if @pid != Process.pid
        @lock.synchronize(&block)
      end

      def milliseconds = Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond)

      def count_message(frames, header, bytes)
        @totals[:messages] += 1
        @totals[:bytes] += bytes
        if frames.size == 1
          @totals[:plain] += 1
          level = Lines.level(frames.first)
        elsif header && within_bounds?(header)
          level = @memory[frames.first].level
          count_record(header, frames.first, level, bytes)
        else
          return @totals[:foreign] += 1
        end
        @levels[level] += 1
        store(frames, bytes)
      end

      def within_bounds?(header)
        header.writer.match?(/\A\h{32}\z/) &&
          [header.seq, header.tseq].all? { |number| number < MAX_NUMBER } &&
          header.t_ns.between?(0, MAX_TIME)
      end

      def count_record(header, topic, level, bytes)
        one = writer(header, topic)
        counts = one.counts
        lost, late = counts.lost, counts.late
        counts.record(header.seq, milliseconds)
        @totals[:records] += 1
        @totals[:lost] += counts.lost - lost
        @totals[:late] += counts.late - late
        one.bytes += bytes
        one.levels[level] += 1
        one.lag = Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond) - header.t_ns
        one.longest_lag = one.lag if one.lag > one.longest_lag
      end

      def writer(header, topic)
        id = header.writer.downcase
        one = @writers.delete(id) || begin_writer(id, header.seq, topic)
        @writers[id] = one
      end

      def begin_writer(id, seq, topic)
        if @writers.size >= @most_writers
          @writers.shift
          @totals[:forgotten] += 1
        end
        _, prog, host = topic.split(".", 3)
        prog, host = [prog, host.delete_suffix(".")].map { |name| name.b.byteslice(0, NAME) }
        counts = Reader::WriterStatistics.new(id, seq, prog: prog, host: host)
        Writer.new(counts, 0, 0, 0, [0] * LoggerConstants::LEVELS)
      end

      def store(frames, bytes)
        return if @most.zero? || bytes > @most_bytes / 4
        @stored << frames
        @stored_bytes += bytes
        while @stored.size > @most || @stored_bytes > @most_bytes
          @stored_bytes -= @stored.shift.sum(&:bytesize)
        end
      end
    end
    private_constant :Statistics
  end
end
