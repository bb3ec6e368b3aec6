# frozen_string_literal: true

module Godwit
  module CLI
    class Log
      # Shows what a reader receives, until a count or a time is reached.
      # @private
      class Follow
        # @param count [Integer, nil] how many to show
        # @param timeout [Float, nil] seconds
        # @param stats [Boolean] whether to print statistics each second
        def initialize(reader, filter, view, io, count: nil, timeout: nil, stats: false)
          @reader = reader
          @filter = filter
          @view = view
          @io = io
          @left = count
          @finish = timeout && Timeout.now + timeout
          @stats_at = Timeout.now + 1 if stats
          @summary = Godwit::Logger::Summary.new(host: ::Socket.gethostname)
          @shown = {}
        end

        # @param records [Array<Logger::Record>] shown first; they are skipped if they come again
        # @return [Integer] exit status
        def run(records)
          records.each { |record| show(record) }
          records.each { |record| @shown[record.writer] = record.seq unless record.plain? }
          follow until done? || late?
          @io.flush
          print_summary
          done? ? EXIT[:ok] : EXIT[:timed_out]
        rescue SignalException
          print_summary
          raise
        end

        private

        def done? = @left&.zero?

        def late? = @finish && Timeout.now >= @finish

        # The output is flushed before the process waits.
        def follow
          record = @reader.recv(timeout: 0, exception: false)
          unless record
            @io.flush
            record = @reader.recv(timeout: patience, exception: false)
          end
          if record
            @summary << record
            show(record) unless shown?(record)
          end
          return unless @stats_at && Timeout.now >= @stats_at
          print_summary
          @stats_at += 1
        end

        def patience
          [@finish, @stats_at].compact.min&.then { |time| [time - Timeout.now, 0].max }
        end

        def shown?(record)
          last = @shown[record.writer] if @shown.any? && !record.plain?
          last && record.seq <= last
        end

        def show(record)
          return if done? || !@filter.fits?(record)
          @io.write(@view.line(record))
          @left -= 1 if @left
        end

        def print_summary
          warn @summary.line(received: @reader.received, lost: @reader.lost,
            writers: @reader.writers.size, foreign: @reader.foreign)
        end
      end
    end
  end
end
