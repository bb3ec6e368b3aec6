# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # The thread that sends the records of disk queues to a receiver, over one DEALER, and that gets
    # the receiver's acknowledgements.
    class DurableSender
      ANSWER_TIMEOUT = 2.0 # seconds that the receiver's first answer may take until a warning
      SLOWEST = 5.0 # most seconds until the next connect to a peer that is no receiver
      EVENTS = %i[handshake_succeeded handshake_failed_protocol handshake_failed_auth disconnected
        closed].freeze
      WRONG = "is no receiver of durable logs: give the endpoint of `godwit log serve --durable-in`"

      # @param queues [Array<DiskQueue>] the writer's own queue, then queues of ended processes
      def initialize(settings, writer, queues)
        @settings = settings
        @writer = writer
        @windows = queues.map { |queue| SendWindow.new(queue) }
        @idle = false
        @broken = 0
        @events = Thread::Queue.new
      end

      def start
        @wakeup_reader, @wakeup = IO.pipe
        open
        # No interrupt may come between the opening of sockets and the thread that closes them.
        Thread.handle_interrupt(Object => :never) { @thread = Worker.new { run } }
        @thread.name = "godwit log durable"
      rescue
        close_all
        raise
      end

      def alive? = @thread&.alive?

      # Wakes the thread to send. Any thread may call this method, also in a trap handler.
      def wake(always: false)
        return unless @idle || always
        @idle = false
        @wakeup.write_nonblock("!", exception: false)
      rescue IOError, SystemCallError
        nil # the thread has ended
      end

      # Ends the thread once all records are acknowledged, or after `seconds`.
      def stop(seconds)
        @until = Timeout.now + seconds
        wake(always: true)
        return if Thread.current.equal?(@thread)
        return if @thread&.join(seconds + 1)
        @thread&.kill
        @thread&.join
      end

      private

      def open
        context = @settings.shared_context || (@own_context = Context.new)
        # With `immediate: true` libzmq accepts no records without a peer: they wait on the disk.
        @socket = DEALER.new(context: context, immediate: true, linger: Context::BRIEF_LINGER,
          **@settings.options)
        @socket.on_event(*EVENTS) { |event| @events << event and wake(always: true) }
        @socket.connect(@settings.endpoint)
        @poller = Poller.new(@socket, @wakeup_reader)
      end

      def run
        until over?
          @idle = true # a caller that stores a record from here on wakes the thread
          @writer.store_trapped
          take_events
          blocked = @windows.any? { |window| pump(window) }
          receive
          # Closes the empty queues of ended processes. The writer itself closes the first, its own.
          done = @windows.drop(1).select { |window| window.queue.empty? }
          @windows -= done.each { |window| window.queue.close }
          await(blocked) if @idle
        end
      rescue ClosedError, ContextTerminatedError
        nil # the program has closed its context
      rescue => error
        @writer.record_error(error)
      ensure
        close_all
      end

      def over?
        return false unless @until
        @windows.all? { |window| window.queue.empty? } || Timeout.now >= @until
      end

      def pump(window)
        now = Timeout.now
        while (message = window.peek(now))
          return true unless @socket.send_nonblock(message, exception: false).equal?(@socket)
          window.sent(now)
        end
        false
      end

      def receive
        while (message = @socket.recv_nonblock(exception: false)).is_a?(Array)
          verb, key, value = message
          window = @windows.find { |one| one.key == key }
          answer(window, verb, value) if window
        end
      end

      def answer(window, verb, value)
        number = Wire.value(value)
        case verb
        when Wire::WELCOME
          @answered = true
          number && establish(window, number)
        when Wire::ACK
          @writer.progress if number && window.acknowledged(number, Timeout.now)
        when Wire::WHAT
          window.begin_anew if window.established?
        when Wire::TROUBLE
          text = value.to_s.dup.force_encoding(Encoding::UTF_8).scrub
          @writer.record_error("the receiver cannot write: #{text}")
        end
        @idle = false # so that the thread sends before it waits: the answer may allow more records
      end

      def establish(window, number)
        return @writer.progress if window.establish(number)
        @writer.record_error("the receiver has records of #{window.queue.id} that " \
          "#{window.queue.folder} never sent (a copy of it, or a power cut?): it goes on under a " \
          "new id")
        window.queue.rename
        window.renamed
      end

      def take_events
        while (event = @events.pop(true))
          case event.name
          when :handshake_succeeded then connected
          when :handshake_failed_protocol then wrong_peer
          when :handshake_failed_auth then @writer.record_error(event.to_s)
          when :disconnected then disconnected
          when :closed then @broken = 0 # the endpoint refuses connections: the peer has ended
          end
        end
      rescue ThreadError # the queue of events is empty
        now = Timeout.now
        if @asked && !@answered && now >= @asked + ANSWER_TIMEOUT
          @asked = nil
          wrong_peer(" (it does not answer)")
        end
        reconnect if @reconnect_at && now >= @reconnect_at
      end

      def connected
        @connected = true
        @asked = Timeout.now
        @answered = false
        @broken = 0
        @reconnect_at = nil
        @windows.each(&:begin_anew)
      end

      # A receiver that is killed in the handshake disconnects once; then no process listens. A peer
      # of another socket type disconnects after each connect, and libzmq does not connect again.
      def disconnected
        @asked = nil
        return @connected = false if @connected
        @broken += 1
        wrong_peer if @broken > 1
        @reconnect_at = Timeout.now + [0.05 * 2**@broken, SLOWEST].min
      end

      def reconnect
        @reconnect_at = nil
        begin
          @socket.disconnect(@settings.endpoint)
        rescue SystemCallError
          nil # libzmq has already removed the endpoint
        end
        @socket.connect(@settings.endpoint)
      end

      def wrong_peer(why = "") = @writer.record_error("#{@settings.endpoint} #{WRONG}#{why}")

      def await(blocked)
        if blocked != @blocked
          @poller.modify(@socket, *(blocked ? %i[readable writable] : %i[readable]))
          @blocked = blocked
        end
        answer_due = @asked + ANSWER_TIMEOUT if @asked && !@answered
        times = [*@windows.map(&:due), @until, @reconnect_at, answer_due]
        seconds = Timeout.until(times.compact.min)
        Thread.handle_interrupt(Object => :immediate) { @poller.wait(seconds) }
        @wakeup_reader.read_nonblock(64, exception: false)
      end

      def close_all
        @poller&.close
        @socket&.close
        @windows.drop(1).each { |window| window.queue.close }
        [@wakeup_reader, @wakeup].each { |io| io&.close }
        @own_context&.close
      rescue Error => error
        @writer.record_error(error)
      end
    end
    private_constant :DurableSender
  end
end
