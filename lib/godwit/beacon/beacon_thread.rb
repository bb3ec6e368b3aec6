# frozen_string_literal: true

module Godwit
  class Beacon
    # The thread that publishes and hears, and what it shares with the callers. It does not know its
    # {Beacon}, so that the garbage collector can take that and end the thread.
    # @private
    class BeaconThread
      # Heard in one go; then it is looked whether something is to be sent.
      BATCH = 64
      # Seconds in which a payload that is published no more may still come back to us.
      ECHO = 1.0
      # Seconds that `close` waits for the thread, which only a trap block can hold up.
      PATIENCE = 1.0
      # Seconds of one wait, in a long one.
      LONGEST = 1e6

      def initialize(port, wanted, interval:, noecho:, limit:)
        @pid = Process.pid
        @port = port
        @interval = interval
        @noecho = noecho
        @limit = limit
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @queue = []
        @own = {} # payload to the time until which it is taken for our own
        @sent = @failed = @dropped = 0
        @stopping = @closed = false
        # Nothing may come between the sockets and the thread that closes them.
        Thread.handle_interrupt(Object => :never) { start(wanted) }
      end

      attr_reader :port

      # With the lock held: what was heard was counted before.
      def sent = @lock.synchronize { @sent }

      def failed = @lock.synchronize { @failed }

      def last_error = @lock.synchronize { @last_error }

      def dropped = @lock.synchronize { @dropped }

      def interval = @lock.synchronize { @interval }

      def noecho = @lock.synchronize { @noecho }

      def interface = @sockets.interface

      def forked? = @pid != Process.pid

      def closed? = @stopping || @closed

      def publish(payload)
        change do
          retire
          @own[payload] = Float::INFINITY
          @payload = payload
          @due = Timeout.now
        end
      end

      def silence
        change { retire }
      end

      # @param prefix [String, nil] nil: nothing is heard
      def subscribe(prefix)
        change { @prefix = prefix }
      end

      def interval=(seconds)
        change do
          @interval = seconds
          @due = [@due, Timeout.now + seconds].min if @due
        end
      end

      def noecho=(value)
        change { @noecho = value }
      end

      # @return [Array(String, String), nil] nil when time is up
      def take(seconds)
        await(seconds) { @queue.shift }
      end

      # @return [true, nil] nil when time is up
      def wait_sent(count, seconds)
        await(seconds) { count && @sent >= count }
      end

      # Takes no lock, since it may be called in a trap block and by the garbage collector.
      def stop
        return if forked? # the pipe is the parent's
        at_once { @stopping = true }
      end

      # Waits for its end.
      def join
        @thread.join(PATIENCE) unless Thread.current.equal?(@thread)
      end

      private

      def start(wanted)
        @sockets = UdpSockets.new(@port, wanted)
        @wakeup_reader, @wakeup = IO.pipe
        @thread = Thread.new { work }
        @thread.name = "godwit beacon"
      rescue SystemCallError, ThreadError => error
        close_all
        raise if error.is_a?(Error) || error.is_a?(ThreadError)
        raise Errors.build(error.errno, :beacon, "udp://*:#{@port}")
      end

      def change
        at_once { @lock.synchronize { yield unless @closed } }
      end

      # No interrupt comes between a change and the bell that tells of it.
      def at_once
        Thread.handle_interrupt(Object => :never) do
          yield
          wake
        end
      end

      # The payload is published no more; its last echo may be under way.
      def retire
        now = Timeout.now
        @own.delete_if { |_, time| time < now }
        @own[@payload] = now + ECHO if @payload
        @payload = @due = nil
      end

      def wake
        @wakeup.write_nonblock("!", exception: false)
      rescue IOError, SystemCallError
        nil # the thread has ended
      end

      def await(seconds)
        finish = seconds && Timeout.now + seconds
        @lock.synchronize do
          loop do
            return if closed?
            value = yield
            return value if value
            left = finish && finish - Timeout.now
            return if left && left <= 0
            @changed.wait(@lock, left && [left, LONGEST].min)
          end
        end
      end

      def work
        Thread.handle_interrupt(Object => :immediate) { turn until @stopping }
      rescue IOError, Errno::EBADF
        # JRuby closes all IOs when it exits, before it ends the threads.
        raise unless [@wakeup_reader, @sockets.receiver].any?(&:closed?)
      ensure
        @lock.synchronize do
          @closed = true
          @changed.broadcast
        end
        close_all
      end

      def turn
        wait = @lock.synchronize { send_what_is_due }
        readable, = IO.select([@sockets.receiver, @wakeup_reader], nil, nil, wait)
        return unless readable
        @wakeup_reader.read_nonblock(BATCH, exception: false) if readable.include?(@wakeup_reader)
        BATCH.times { break unless receive }
      end

      # With the lock held, so that nothing goes out once `silence` has returned.
      # @return [Float, nil] seconds until the next is due
      def send_what_is_due
        return unless @payload
        now = Timeout.now
        if @due <= now
          broadcast
          @due += @interval
          @due = now + @interval if @due < now # it was held up for longer than that
        end
        [@due - Timeout.now, 0].max
      end

      def broadcast
        @sockets.broadcast(@payload)
        @sent += 1
        @changed.broadcast
      rescue SystemCallError => error
        @failed += 1
        @last_error = error
        @sockets.recreate
      end

      # @return [Boolean] whether there may be more
      def receive
        address, payload = @sockets.receive
        return false unless address
        @lock.synchronize { keep(address, payload) }
        true
      rescue SystemCallError
        true # the network's trouble; the next one tells nothing of this
      end

      def keep(address, payload)
        return unless @prefix && payload.bytesize.between?(1, Beacon::MOST_BYTES)
        return unless payload.start_with?(@prefix)
        return if @noecho && @own.fetch(payload, 0) > Timeout.now
        @queue << [address, payload]
        if @queue.size > @limit
          @queue.shift
          @dropped += 1
        end
        @changed.broadcast
      end

      def close_all
        @sockets&.close
        [@wakeup_reader, @wakeup].each { |io| io&.close }
      end
    end
  end
end
