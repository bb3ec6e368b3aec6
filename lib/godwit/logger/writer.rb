# frozen_string_literal: true

require_relative "../worker"
require_relative "encoder"
require_relative "mark"
require_relative "room"
require_relative "drops"
require_relative "exit"

module Godwit
  class Logger < ::Logger
    # One process's end of a logger: the queue, and the thread that owns the outlet. It knows no
    # Logger, so that the garbage collector can take that.
    # @private
    class Writer
      include Drops

      BATCH = 256
      # Seconds after its start in which a socket without a reader is not taken for mute yet.
      GRACE = (RUBY_ENGINE == "jruby") ? 1.0 : 0.25
      # Seconds until new records are looked for, while older ones on the disk wait for the socket.
      LOOK = 0.05
      # Seconds between two records of what was dropped.
      REPORT_EVERY = 1.0

      # @param outlet [#open, #deliver, #wait, #close]
      # @param complaint [#call]
      def initialize(settings, complaint, outlet, encoder = Encoder.new(settings))
        @settings = settings
        @complaint = complaint
        @outlet = outlet
        @encoder = encoder
        @pid = Process.pid
        @room = Room.new(settings.queue, settings.room_bytes)
        @pending = []
        @marks = []
        @gone = @reported = @lost = @late = 0
        @starting = Mutex.new
        @ending = Mutex.new
        @closing = @finished = false
      end

      attr_reader :encoder, :outlet, :last_error

      # @return [Boolean] whether entries go anywhere; false in a forked child, and after a kill of
      #   the thread
      def alive? = @thread&.alive?

      # @return [Boolean] whether it is this process's, and not closed
      def at_work? = @pid == Process.pid && !@closing

      def own? = @pid == Process.pid

      def closed? = @closing

      # Anew, if its thread was killed.
      def start
        return if @closing
        first_with(@starting) do # who has it starts it
          next if @closing || alive?
          @room.stalled(Timeout.now + GRACE)
          Exit.watch(self) unless @thread
          spawn
        end
      end

      # Callers.
      # @param entry [Array] see {Encoder}
      # @param bytes [Integer] of its texts
      # @return [Object] :sealed: it takes no more, and nothing was done
      def push(entry, bytes)
        return overflow(entry, bytes) if @room.full?
        @room.push(entry, bytes) || :sealed
      end

      # @return [Stats]
      def stats
        return Stats.new(queued: 0, sent: 0, dropped: 0, spooled: 0) unless own?
        Stats.new(
          queued: queued, sent: @outlet.sent,
          dropped: @encoder.dropped + @lost + @late + @outlet.lost, spooled: @outlet.spooled,
          last_error: @last_error
        )
      end

      def queued = @room.size + unsent

      # Waits until all that was logged before has been handed to libzmq.
      # @param seconds [Numeric, nil] nil: for ever
      # @return [Boolean]
      def flush(seconds)
        return queued.zero? && !in_vain? unless own? && alive?
        mark = Mark.new
        return queued.zero? unless mark.waitable?
        @room.mark(mark) && mark.wait(seconds)
      end

      # @return [Boolean] whether linger was over before all had gone
      def in_vain? = @in_vain || false

      # Takes no more. Needs no lock.
      def stop
        @closing = true
        @room.close
      end

      private

      # @return [Integer] records that were taken from the queue and have not gone; a notice of
      #   drops, always the last, is none
      def unsent = [@pending.size - @gone - (@noticed ? 1 : 0), 0].max

      def overflow(entry, bytes)
        room =
          (
            if @settings.overflow == :block
              @room.wait(@settings.block_timeout, mute: true)
            else
              @room.give_way
            end
          )
        return @room.push(entry, bytes) || :sealed if room
        if @settings.overflow == :drop_old
          oldest = @room.shift
          drop(oldest) if oldest
          return @room.push(entry, bytes) || :sealed
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
          settle { @outlet.open }
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
        while @outlet.backlog? && @room.empty? && !@room.closed?
          done = false
          settle do
            @outlet.replay_soon(LOOK)
            done = true
          end
          break unless done # the next record tries again
        end
        @room.take(BATCH)
      end

      def settle
        yield
      rescue => error
        @lost += unsent
        forget_pending
        trouble(error)
      ensure
        # A killed thread's are its follower's.
        @marks.shift.tell(true) until @marks.empty? || @gone < @pending.size
      end

      def encode(batch)
        batch.each do |entry|
          entry[0] ? @pending << @encoder.encode(entry) : @marks << entry[1]
        rescue => error # the others go
          @lost += 1
          trouble(error)
        end
      end

      def deliver
        while @gone < @pending.size
          count = @outlet.deliver(@pending, @gone)
          @gone += count
          if count.zero?
            wait
          else
            @accepted = true
            @room.progress
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
        @room.stalled if @accepted
        Thread.handle_interrupt(Object => :immediate) { @outlet.wait }
      end

      # One record that closes the readers' accounts.
      def report_drops(always: false)
        dropped = @encoder.dropped
        return if dropped == @reported
        now = Timeout.now
        return unless always || @room.empty? || now - (@last_report || 0) >= REPORT_EVERY
        @pending << @encoder.encode(notice(dropped, now))
        @noticed = true
        reported(dropped)
        @last_report = now
      end

      def trouble(error)
        @last_error = error
        @complaint.call("#{error.message} (#{error.class})")
      end

      def finish(deadline)
        each_sender { |thread| thread.join([deadline - Timeout.now, 0].max) }
        each_sender { |thread| thread.kill.join }
        @finished = @in_vain = true # till it is counted, for who asks meanwhile
        left = unsent + @room.clear
        @lost += left
        @in_vain = left.positive?
        forget_pending
        @marks.each { |mark| mark.tell(false) }
        all = @outlet.close(left.zero? ? [deadline - Timeout.now, 0].max : 0)
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
          @complaint.call(
            "#{Text.count(all, "is", "are")} kept in #{@settings.spool} for the next start",
            always: true
          )
        end
        return if @lost.zero? && all
        some = "some of the last #{@outlet.held} records may not have been sent"
        count = "#{@lost} #{(@lost == 1) ? "record" : "records"} not sent" if @lost.positive?
        text = [count, (some unless all)].compact.join("; ")
        @last_error ||= TimeoutError.new(text, operation: :close, endpoint: @settings.endpoint)
        @complaint.call(text, always: true)
      end
    end
    private_constant :Writer
  end
end
