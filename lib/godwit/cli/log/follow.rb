# frozen_string_literal: true

module Godwit
  module CLI
    class Log
      # Shows what a reader gets, until it is enough.
      # @private
      class Follow
        # @param reader [Logger::Reader]
        # @param filter [Logger::Filter]
        # @param view [Logger::View]
        # @param io [IO]
        # @param count [Integer, nil] how many to show
        # @param timeout [Float, nil] seconds
        # @param stats [Boolean] whether to tell each second
        def initialize(reader, filter, view, io, count: nil, timeout: nil, stats: false)
          @reader = reader
          @filter = filter
          @view = view
          @io = io
          @left = count
          @finish = timeout && Timeout.now + timeout
          @tell_at = Timeout.now + 1 if stats
          @summary = Godwit::Logger::Summary.new(host: ::Socket.gethostname)
          @shown = {}
        end

        # @param records [Array<Logger::Record>] shown first; when one of them comes again, it is
        #   not
        # @return [Integer] exit status
        def run(records)
          records.each { |record| show(record) }
          records.each { |record| @shown[record.writer] = record.seq unless record.plain? }
          follow until done? || late?
          @io.flush
          tell
          done? ? EXIT[:ok] : EXIT[:timed_out]
        rescue SignalException # Ctrl-C among them
          tell
          raise
        end

        private

        def done? = @left&.zero?

        def late? = @finish && Timeout.now >= @finish

        # What is written leaves this process before it waits.
        def follow
          record = @reader.recv(timeout: 0, exception: false)
          unless record
            @io.flush
            record = @reader.recv(timeout: patience, exception: false)
          end
          take(record) if record
          return unless @tell_at && Timeout.now >= @tell_at
          tell
          @tell_at += 1
        end

        def patience
          [@finish, @tell_at].compact.min&.then { |time| [time - Timeout.now, 0].max }
        end

        def take(record)
          @summary << record
          show(record) unless known?(record)
        end

        def known?(record)
          last = @shown[record.writer] if @shown.any? && !record.plain?
          last && record.seq <= last
        end

        def show(record)
          return if done? || !@filter.fits?(record)
          @io.write(@view.line(record))
          @left -= 1 if @left
        end

        def tell
          warn @summary.line(
            received: @reader.received, lost: @reader.lost, writers: @reader.writers.size,
            foreign: @reader.foreign
          )
        end
      end
    end
  end
end
