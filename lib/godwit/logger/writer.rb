# frozen_string_literal: true

require_relative "../worker"
require_relative "encoder"
require_relative "flush_token"
require_relative "bounded_queue"
require_relative "base_writer"
require_relative "drop_counter"
require_relative "exit"

module Godwit
  class Logger < ::Logger
    # One process's end of a logger: the queue, and the thread that owns the transport. It knows no
    # Logger, so that the garbage collector can take that.
    # @private
    class Writer < BaseWriter
      BATCH = 256
      # Seconds after its start in which a socket without a reader is not yet taken for stalled.
      GRACE = (RUBY_ENGINE == "jruby") ? 1.0 : 0.25
      # Seconds until new records are looked for, while older ones on the disk wait for the socket.
      LOOK = 0.05
      # Seconds between two records of what was dropped.
      REPORT_EVERY = 1.0

      # @param transport [#open, #deliver, #wait, #close]
      # @param warnings [#call]
      def initialize(settings, warnings, transport, encoder = Encoder.new(settings))
        super(settings, warnings)
        @transport = transport
        @encoder = encoder
        @drops = DropCounter.new(encoder)
        @queue = BoundedQueue.new(settings.queue, settings.queue_byte_limit)
        @pending = []
        @flush_tokens = []
        @gone = @lost = 0
        @thread = @last_report = nil
        @noticed = @accepted = false
      end

      attr_reader :transport

      # @return [Boolean] whether entries go anywhere; false in a forked child, and after a kill of
      #   the thread
      def alive? = @thread&.alive?

      def closed? = @closing

      # Anew, if its thread was killed.
      def start
        return if @closing
        first_with(@starting) do # who has it starts it
          next if @closing || alive?
          @queue.stalled(Timeout.now + GRACE)
          Exit.watch(self) unless @thread
          spawn
        end
      end

      # Callers.
      # @param entry [Array] see {Encoder}
      # @param bytes [Integer] of its texts
      # @return [Object] :sealed: it takes no more, and nothing was done
      def push(entry, bytes)
        return overflow(entry, bytes) if @queue.full?
        @queue.push(entry, bytes) || :sealed
      end

      # @return [Stats]
      def stats
        return Stats.new(queued: 0, sent: 0, dropped: 0, spooled: 0) unless own?
        Stats.new(
          queued: queued, sent: @transport.sent,
          dropped: @drops.total + @lost + @transport.lost, spooled: @transport.spooled,
          last_error: @last_error
        )
      end

      def queued = @queue.size + unsent

      # Waits until all that was logged before has been handed to libzmq.
      # @param seconds [Numeric, nil] nil: for ever
      # @return [Boolean]
      def flush(seconds)
        return queued.zero? && !incomplete? unless own? && alive?
        mark = FlushToken.new
        return queued.zero? unless mark.waitable?
        @queue.mark(mark) && mark.wait(seconds)
      end

      # Takes no more. Needs no lock.
      def stop
        @closing = true
        @queue.close
      end

      private

      # @return [Integer] records that were taken from the queue and have not gone; a notice of
      #   drops, always the last, is none
      def unsent = [@pending.size - @gone - (@noticed ? 1 : 0), 0].max

      def overflow(entry, bytes)
        room =
          (
            if @settings.overflow == :block
              @queue.wait(@settings.block_timeout, unresponsive: true)
            else
              @queue.yield_turn
            end
          )
        return @queue.push(entry, bytes) || :sealed if room
        if @settings.overflow == :drop_old
          oldest = @queue.shift
          drop(oldest) if oldest
          return @queue.push(entry, bytes) || :sealed
        end
        drop(entry)
        nil
      end

      def spawn
        Thread.handle_interrupt(Object => :never) do
          @thread = Worker.new { work }
          @thread.report_on_exception = false
          @thread.name = "godwit logger"
        end
      end

      # One that is killed has a follower, unless the process ends.
      def work
        run
        over = true
      ensure
        spawn unless over || @closing || Exit.over?
      end

      # Interrupts are taken only where it waits; so it always knows what has gone. It outlives
      # every error: one costs a batch, which is counted.
      def run
        Thread.handle_interrupt(Object => :never) do
          settle { @transport.open }
          settle { deliver }
          while (batch = take)
            settle do
              encode(batch)
              report_drops
              deliver
            end
          end
          settle do
            report_drops(always: true)
            deliver
          end
        end
      end

      # While something waits on the disk, that is looked after too.
      def take
        while @transport.backlog? && @queue.empty? && !@queue.closed?
          done = false
          settle do
            @transport.replay_soon(LOOK)
            done = true
          end
          break unless done # the next record tries again
        end
        @queue.take(BATCH)
      end

      def settle
        yield
      rescue => error
        @lost += unsent
        forget_pending
        trouble(error)
      ensure
        # A killed thread's are its follower's.
        @flush_tokens.shift.tell(true) until @flush_tokens.empty? || @gone < @pending.size
      end

      def encode(batch)
        batch.each do |entry|
          entry[0] ? @pending << @encoder.encode(entry) : @flush_tokens << entry[1]
        rescue => error # the others go
          @lost += 1
          trouble(error)
        end
      end

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
        @queue.stalled if @accepted
        Thread.handle_interrupt(Object => :immediate) { @transport.wait }
      end

      # One record that closes the gaps which readers see.
      def report_drops(always: false)
        return unless @drops.unreported?
        now = Timeout.now
        return unless always || @queue.empty? || now - (@last_report || 0) >= REPORT_EVERY
        @drops.report(now) do |entry|
          @pending << @encoder.encode(entry)
          @noticed = true
        end
        @last_report = now
      end

      def trouble(error)
        @last_error = error
        @warnings.call("#{error.message} (#{error.class})")
      end

      def finish(deadline)
        each_sender { |thread| thread.join([deadline - Timeout.now, 0].max) }
        each_sender { |thread| thread.kill.join }
        @finished = @incomplete = true # till it is counted, for who asks meanwhile
        left = unsent + @queue.clear
        @lost += left
        @incomplete = left.positive?
        forget_pending
        @flush_tokens.each { |mark| mark.tell(false) }
        all = @transport.close(left.zero? ? [deadline - Timeout.now, 0].max : 0)
        tell_rest(all)
      end

      # One that was killed just before the end has a follower.
      def each_sender
        last = nil
        yield last = @thread until @thread.equal?(last)
      end

      # @param all [Boolean, Integer] how many are kept on the disk
      def tell_rest(all)
        if all.is_a?(Integer)
          @warnings.call(
            "#{Text.count(all, "is", "are")} kept in #{@settings.spool} for the next start",
            always: true
          )
        end
        return if @lost.zero? && all
        some = "some of the last #{@transport.held} records may not have been sent"
        count = "#{@lost} #{(@lost == 1) ? "record" : "records"} not sent" if @lost.positive?
        text = [count, (some unless all)].compact.join("; ")
        @last_error ||= TimeoutError.new(text, operation: :close, endpoint: @settings.endpoint)
        @warnings.call(text, always: true)
      end
    end
    private_constant :Writer
  end
end
