# frozen_string_literal: true

module Godwit
  class Beacon
    # The thread that sends and receives, with the state that it shares with callers. It does not
    # refer to its {Beacon}: the garbage collector can free the Beacon, and so end the thread.
    # @private
    class BeaconThread
      # Most datagrams received in a row before the next broadcast may go out.
      BATCH = 64
      # For so many seconds after a payload's last broadcast, a received copy counts as an echo.
      ECHO = 1.0
      # Most seconds that `close` waits for the thread's end. A trap block may hold the thread up.
      CLOSE_TIMEOUT = 1.0
      # Seconds of one ConditionVariable#wait; longer waits repeat it.
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
        @own = {} # own payload => time until which it counts as an echo
        @sent = @failed = @dropped = 0
        @last_error = nil
        @stopping = @closed = false
        # An interrupt between opening the sockets and starting the thread would leak the sockets.
        Thread.handle_interrupt(Object => :never) { start(wanted) }
      end

      attr_reader :port
      # The thread sends with the lock held: when a peer has a payload, `sent` includes it already.
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
        return if forked? # the parent process uses the same pipe
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

      # No interrupt comes between a change and the wake-up of the thread.
      def without_interrupts
        Thread.handle_interrupt(Object => :never) do
          yield
          wake
        end
      end

      # Ends the broadcasts of the payload. Its last echo may still arrive.
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
            remaining = Timeout.until(finish)
            return if remaining&.zero?
            @changed.wait(@lock, remaining && [remaining, LONGEST].min)
          end
        end
      end

      def work
        Thread.handle_interrupt(Object => :immediate) { turn until @stopping }
      rescue IOError, Errno::EBADF
        # JRuby closes all IOs at exit before it ends the threads.
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
        true # the error concerns one datagram: the next one may succeed
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
