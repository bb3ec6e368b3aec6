# frozen_string_literal: true

module Godwit
  class Beacon
    # The thread of a {Beacon}, which sends and receives, and the state that it shares with callers.
    # It has no reference to the Beacon, whose finalizer ends the thread after a collection.
    # @private
    class BeaconThread
      # Most datagrams that the thread receives before it checks whether a broadcast is due.
      BATCH = 64
      # Seconds after a payload's last broadcast in which a received copy counts as an echo.
      ECHO = 1.0
      # Most seconds that `close` waits for the thread's end. In a trap block the thread cannot end
      # if the interrupted code holds @lock.
      CLOSE_TIMEOUT = 1.0
      # Most seconds of one ConditionVariable#wait; a longer wait calls it several times.
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
        @own = {} # payload that was broadcast => time until which a copy counts as an echo
        @sent = @failed = @dropped = 0
        @last_error = nil
        @stopping = @closed = false
        # An interrupt between opening the sockets and starting the thread would leak the sockets.
        Thread.handle_interrupt(Object => :never) { start(wanted) }
      end

      attr_reader :port
      # The thread sends and counts under one lock, so `sent` includes each payload that a peer has.
      def sent = @lock.synchronize { @sent }
      def failed = @lock.synchronize { @failed }
      def last_error = @lock.synchronize { @last_error }
      def dropped = @lock.synchronize { @dropped }
      def interval = @lock.synchronize { @interval }
      def noecho = @lock.synchronize { @noecho }
      def interface = @sockets.interface
      def forked? = @pid != Process.pid
      def closed? = @stopping || @closed
      def finalizer = proc { stop }

      def publish(payload)
        change do
          retire
          @own[payload] = Float::INFINITY
          @payload = payload
          @due = Timeout.now
        end
      end

      def silence = change { retire }
      # @param prefix [String, nil] nil: receives nothing
      def subscribe(prefix) = change { @prefix = prefix }

      def interval=(seconds)
        change do
          @interval = seconds
          @due = [@due, Timeout.now + seconds].min if @due
        end
      end

      def noecho=(value)
        change { @noecho = value }
      end

      def take(seconds) = await(seconds) { @queue.shift }
      def wait_sent(count, seconds) = await(seconds) { count && @sent >= count }

      # Stops the thread. The method takes no lock, since a trap block and the garbage collector may
      # call it.
      def stop
        return if forked? # a write to the shared pipe would wake the parent's thread
        without_interrupts { @stopping = true }
      end

      def join
        @thread.join(CLOSE_TIMEOUT) unless Thread.current.equal?(@thread)
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
        without_interrupts { @lock.synchronize { yield unless @closed } }
      end

      # Masks interrupts, so that none comes between a change and the wake-up of the thread.
      def without_interrupts
        Thread.handle_interrupt(Object => :never) do
          yield
          wake
        end
      end

      # Ends the broadcasts of @payload, whose echo may still arrive during the next ECHO seconds.
      def retire
        now = Timeout.now
        @own.delete_if { |_, time| time < now }
        @own[@payload] = now + ECHO if @payload
        @payload = @due = nil
      end

      def wake
        @wakeup.write_nonblock("!", exception: false)
      rescue IOError, SystemCallError
        nil # the thread has ended and closed the pipe
      end

      def await(seconds)
        finish = seconds && Timeout.now + seconds
        @lock.synchronize do
          loop do
            return if closed?
            value = yield
            return value if value
            remaining = Timeout.until(finish)
            return if remaining&.zero?
            @changed.wait(@lock, remaining && [remaining, LONGEST].min)
          end
        end
      end

      def work
        Thread.handle_interrupt(Object => :immediate) { turn until @stopping }
      rescue IOError, Errno::EBADF
        # At exit JRuby closes all IOs before it ends the threads: then this error means nothing.
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

      # Broadcasts the payload if its time has come, and returns the seconds until the next
      # broadcast. The caller holds the lock, so that nothing is sent once `silence` has returned.
      def send_what_is_due
        return unless @payload
        now = Timeout.now
        if @due <= now
          broadcast
          @due += @interval
          @due = now + @interval if @due < now # the thread was late by more than an interval
        end
        Timeout.until(@due)
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

      def receive
        address, payload = @sockets.receive
        return false unless address
        @lock.synchronize { keep(address, payload) }
        true
      rescue SystemCallError
        true # the error concerns this datagram: the next receive may succeed
      end

      def keep(address, payload)
        return unless @prefix && payload.bytesize.between?(1, MAX_BYTES)
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
