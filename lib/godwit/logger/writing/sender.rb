# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # The thread of one process that dequeues entries, encodes them and hands them to the transport.
    # A Sender has no reference to its Logger, so that the Logger can be collected.
    class Sender < BaseWriter
      BATCH = 256
      # Seconds after the start in which a socket without a reader does not count as unresponsive.
      GRACE = (RUBY_ENGINE == "jruby") ? 1.0 : 0.25
      # Seconds between two polls for new records, while older ones on the disk wait for the socket.
      POLL_INTERVAL = 0.05
      REPORT_EVERY = 1.0 # seconds between two records that report drops

      def initialize(settings, warnings)
        super
        spool = settings.overflow == :spool
        @transport = spool ? SpoolTransport.new(settings, warnings) : PushTransport.new(settings)
        @sequence = SequenceCounter.new(settings)
        @queue = BoundedQueue.new(settings, @sequence)
        @lines = Lines.new
        @pending = []
        @flush_marks = []
        @gone = @lost = 0
        @thread = @last_report = nil
        @noticed = @accepted = false
      end

      def open = @transport.open
      # @return [Boolean] whether the thread runs: false before the first record, in a forked child,
      #   and after a kill
      def alive? = @thread&.alive?
      def closed? = @closing

      # Starts the thread, also after a kill.
      def start
        return if @closing
        first_with(@starting) do # another thread that has the lock starts the sender
          next if @closing || alive?
          @queue.stall(Timeout.now + GRACE)
          Exit.watch(self) unless @thread
          spawn
        end
      end

      def stats
        return Stats.new(queued: 0, sent: 0, dropped: 0, spooled: 0) unless own?
        Stats.new(queued: queued, sent: @transport.sent, spooled: @transport.spooled,
          dropped: @sequence.dropped + @lost + @transport.lost, last_error: @last_error)
      end

      # Waits until all records logged before have been handed to libzmq.
      def flush(seconds)
        return queued.zero? && !incomplete? unless own? && alive?
        @queue.flush(seconds)
      rescue ThreadError
        queued.zero? # this is a trap handler, which cannot lock the mutex
      end

      # Closes the queue, which then accepts no more entries. Needs no lock.
      def stop
        @closing = true
        @queue.close
      end

      private

      def queued = @queue.size + unsent
      # @return [Integer] records that were dequeued and not sent. A record that reports drops does
      #   not count; it is always the last one.
      def unsent = [@pending.size - @gone - (@noticed ? 1 : 0), 0].max

      def spawn
        Thread.handle_interrupt(Object => :never) do
          @thread = Worker.new { work }
          @thread.report_on_exception = false
          @thread.name = "godwit logger"
        end
      end

      # A new thread replaces a killed one, unless the writer or the process ends.
      def work
        run
        over = true
      ensure
        spawn unless over || @closing || Exit.over?
      end

      # Interrupts come only where the thread waits, so the thread always knows which records are
      # sent. The thread survives every error: the records of the batch are then lost, and counted.
      def run
        Thread.handle_interrupt(Object => :never) do
          rescue_errors { @transport.open }
          rescue_errors { deliver }
          while (batch = take)
            rescue_errors do
              encode_all(batch)
              report_drops
              deliver
            end
          end
          rescue_errors do
            report_drops(always: true)
            deliver
          end
        end
      end

      # While the queue is empty, the thread sends records from the disk.
      def take
        while @transport.backlog? && @queue.empty? && !@queue.closed?
          # After an error, the thread tries again when the next record comes.
          break unless rescue_errors { @transport.replay_soon(POLL_INTERVAL) }
        end
        @queue.take(BATCH)
      end

      def rescue_errors
        yield
        true
      rescue => error
        @lost += unsent
        forget_pending
        record_error(error)
        false
      ensure
        # If a kill left records unsent, the thread's successor answers the callers of {#flush}.
        until @flush_marks.empty? || @gone < @pending.size
          @queue.answer(@flush_marks.shift, true)
        end
      end

      def encode_all(batch)
        batch.each do |entry|
          (BoundedQueue::FlushMark === entry) ? @flush_marks << entry : @pending << encode(entry)
        rescue => error # only this record is lost
          @lost += 1
          record_error(error)
        end
      end

      def encode(entry) = @plain ? [entry.line(@lines)] : entry.pack(@sequence)

      def deliver
        while @gone < @pending.size
          count = @transport.deliver(@pending, @gone)
          @gone += count
          if count.zero?
            wait
          else
            @accepted = true
            @queue.progress
          end
        end
        forget_pending
      end

      def forget_pending
        @pending.clear
        @gone = 0
        @noticed = false
      end

      def wait
        @queue.stall if @accepted
        Thread.handle_interrupt(Object => :immediate) { @transport.wait }
      end

      # Sends one record that explains to readers the gaps in the sequence numbers.
      def report_drops(always: false)
        return unless @sequence.unreported?
        now = Timeout.now
        return unless always || @queue.empty? || now - (@last_report || 0) >= REPORT_EVERY
        @sequence.report(now) do |entry|
          @pending << encode(entry)
          @noticed = true
        end
        @last_report = now
      end

      def finish(deadline)
        each_thread { |thread| thread.join(Timeout.until(deadline)) }
        each_thread { |thread| thread.kill.join }
        @finished = @incomplete = true # @incomplete is true until the remaining records are counted
        remaining = unsent + @queue.clear
        @lost += remaining
        @incomplete = remaining.positive?
        forget_pending
        @flush_marks.each { |mark| @queue.answer(mark, false) }
        all = @transport.close(remaining.zero? ? Timeout.until(deadline) : 0)
        report_rest(all)
      end

      # A thread that was killed just before the end may have a successor.
      def each_thread
        last = nil
        yield last = @thread until @thread.equal?(last)
      end

      def report_rest(all)
        @warnings.kept(all, @settings.spool) if all.is_a?(Integer)
        return if @lost.zero? && all
        some = "some of the last #{@transport.held} records may not have been sent" unless all
        count = "#{Text.count(@lost)} not sent" if @lost.positive?
        found = @transport.finding
        text = [count, some, found&.text].compact.join("; ")
        @last_error ||= TimeoutError.new(text, operation: :close, endpoint: @settings.endpoint,
          reason: found&.reason, why: found&.text)
        @warnings.call(text, always: true)
      end
    end
    private_constant :Sender
  end
end
