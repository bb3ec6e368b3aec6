# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # The thread of a {Broadcaster} with a sink, and of a {Receiver}. The thread waits for its
    # inputs. An input receives a batch of records, writes it, and may then publish it.
    #
    # {#stop} needs no lock, so a trap handler may call it.
    class ServingThread
      QUIET = 0.01 # seconds without a message after which the thread ends, once {#finish} is called
      PATIENCE = 1 # seconds that an interrupted {#run} waits for the current batch

      # @param inputs [Array<#socket, #receive>] `receive` returns whether there was a message
      def initialize(name, inputs)
        @name = name
        @inputs = inputs
        @pid = Process.pid
        @starting = Mutex.new
        @wakeup_reader, @wakeup = IO.pipe
      end

      def start
        check(:start)
        @starting.synchronize do
          raise Errors.build(StateError, :start, nil, "it runs already: stop it first") if running?
          raise Errors.build(ClosedError, :start) if sockets.any?(&:closed?)
          @stopping = @error = nil
          Thread.handle_interrupt(Object => :never) { @thread = Worker.new { work } }
          @thread.name = @name
        end
        self
      end

      # Starts the thread as {#start} does, and waits for its end. An interrupt of the caller stops
      # the thread.
      def run
        Thread.handle_interrupt(Object => :never) do
          start
          begin
            Thread.handle_interrupt(Object => :immediate) { @thread.join }
          ensure
            stop
            Thread.handle_interrupt(Object => :immediate) { @thread.join(PATIENCE) }
          end
        end
        raise @error if @error
      end

      # Has the thread end after the current batch.
      def stop
        check(:stop)
        @stopping = true
        wake
      end

      def wait(timeout = nil)
        Timeout.check(timeout)
        check(:wait)
        return self unless @thread
        return unless @thread.join(timeout)
        raise @error unless @error.nil? || ending?(@error)
        self
      end

      def running? = @pid == Process.pid && !@thread.nil? && @thread.alive?

      # Has the thread (starting it if need be) receive for up to `seconds`, and then end. The last
      # batch may take up to `patience` longer. Returns whether the thread ended in time.
      def finish(seconds, patience)
        check(:close)
        @deadline = Timeout.now + seconds
        @thread.join(seconds + patience) if @thread && @stopping
        running? ? wake : start
        !@thread.join(Timeout.until(@deadline + patience)).nil?
      end

      # Closes the pipe that {#wake} uses, after the thread has ended, or if the thread hangs.
      def close = [@wakeup_reader, @wakeup].each(&:close)

      private

      def sockets = @inputs.map(&:socket)
      def ending?(error) = error.is_a?(ClosedError) || error.is_a?(ContextTerminatedError)

      # Raises in a forked child, since the pipe that wakes the thread is the parent's.
      def check(operation)
        raise Errors.build(ForkedError, operation) if @pid != Process.pid
      end

      def wake
        @wakeup.write_nonblock("!", exception: false)
      rescue IOError, SystemCallError
        nil # the pipe is closed
      end

      def work
        Thread.current.report_on_exception = false
        poller = Poller.new(*sockets, @wakeup_reader)
        # A kill waits until the current batch is written.
        Thread.handle_interrupt(Object => :on_blocking) { serve(poller) }
      rescue => error
        @error = error
      ensure
        poller&.close
      end

      def serve(poller)
        until @stopping
          busy = @inputs.map(&:receive).any?
          return if @deadline && Timeout.now >= @deadline
          next if busy
          ready = poller.wait(@deadline && QUIET)
          return if @deadline && ready.empty?
          @wakeup_reader.read_nonblock(64, exception: false)
        end
      end
    end
    private_constant :ServingThread
  end
end
