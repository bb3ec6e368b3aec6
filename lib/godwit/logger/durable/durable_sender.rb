# frozen_string_literal: true

require_relative "../../worker"
require_relative "send_window"

module Godwit
  class Logger < ::Logger
    # The thread that brings stores' records to a receiver, over one DEALER, and takes its
    # acknowledgements.
    # @private
    class DurableSender
      # Seconds that a receiver has for its first answer, before it is said that there is none.
      PATIENCE = 2.0
      # Seconds between two tries with a peer that is no receiver, at most.
      SLOWEST = 5.0
      EVENTS = %i[
        handshake_succeeded handshake_failed_protocol handshake_failed_auth disconnected
      ].freeze
      # What a peer that is no receiver fails with.
      WRONG = "is no receiver of durable logs: give the endpoint of `godwit log serve --durable-in`"

      # @param stores [Array<Store>] the first is the writer's own, the others are leftovers
      # @param turn [#call] called in each turn, in the thread
      # @param trouble [#call] takes an Exception or text
      # @param progress [#call] called when records were acknowledged
      def initialize(settings, stores, turn:, trouble:, progress:)
        @settings = settings
        @windows = stores.map { |store| SendWindow.new(store) }
        @turn = turn
        @trouble = trouble
        @progress = progress
        @idle = false
        @broken = 0
        @events = Thread::Queue.new
      end

      # @raise [Error] of the context or the endpoint
      def start
        @wakeup_reader, @wakeup = IO.pipe
        open
        # Nothing may come between the sockets and the thread that closes them.
        Thread.handle_interrupt(Object => :never) { @thread = Worker.new { run } }
        @thread.name = "godwit log durable"
      rescue
        close_all
        raise
      end

      def alive? = @thread&.alive?

      # Callers, also in a trap handler: there is something to send.
      def wake(always: false)
        return unless @idle || always
        @idle = false
        @wakeup.write_nonblock("!", exception: false)
      rescue IOError, SystemCallError
        nil # the thread has ended
      end

      # Ends the thread once all is acknowledged, or time is up.
      # @param seconds [Numeric]
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
        @own_context = Context.new unless @settings.context&.usable? ||
          @settings.endpoint.start_with?("inproc:")
        context = @own_context || (@settings.context&.usable? ? @settings.context : Godwit.context)
        # Only to a peer that is there: what waits for one is on the disk already.
        @socket =
          DEALER.new(
            context: context, immediate: true, linger: Context::BRIEF_LINGER, **@settings.options
          )
        @socket.on_event(*EVENTS) { |event| @events << event and wake(always: true) }
        @socket.connect(@settings.endpoint)
        @poller = Poller.new(@socket, @wakeup_reader)
      end

      def run
        until over?
          @idle = true # who appends from here on rings
          @turn.call
          hear_events
          blocked = @windows.any? { |window| pump(window) }
          receive
          forget_finished
          await(blocked) if @idle
        end
      rescue ClosedError, ContextTerminatedError
        nil # the context that was given is gone
      rescue => error
        @trouble.call(error)
      ensure
        close_all
      end

      def over?
        return false unless @until
        @windows.all? { |window| window.store.segments.empty? } || Timeout.now >= @until
      end

      # @return [Boolean] whether the socket takes no more
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
          number && greet(window, number)
        when Wire::ACK
          @progress.call if number && window.acknowledged(number, Timeout.now)
        when Wire::WHAT
          window.begin_anew if window.welcome?
        when Wire::TROUBLE
          @trouble.call(
            "the receiver cannot write: #{value.to_s.dup.force_encoding(Encoding::UTF_8).scrub}"
          )
        end
        @idle = false # there may be more to send
      end

      def greet(window, number)
        return @progress.call if window.welcomed(number)
        @trouble.call(
          "the receiver has records of #{window.store.id} that #{window.store.folder} never " \
          "sent (a copy of it, or a power cut?): it goes on under a new id"
        )
        window.store.rename
        window.renamed
      end

      def hear_events
        while (event = @events.pop(true))
          case event.name
          when :handshake_succeeded then shaken
          when :handshake_failed_protocol then @trouble.call("#{@settings.endpoint} #{WRONG}")
          when :handshake_failed_auth then @trouble.call(event.to_s)
          when :disconnected then disconnected
          end
        end
      rescue ThreadError
        silence
        join_again if @join_at && Timeout.now >= @join_at
      end

      def shaken
        @shaken = true
        @asked = Timeout.now
        @answered = false
        @broken = 0
        @join_at = nil
        @windows.each(&:begin_anew)
      end

      # In mid-handshake: a receiver that was killed hangs up once, a peer of another type each
      # time. libzmq does not connect again to what it takes for one.
      def disconnected
        @asked = nil
        return @shaken = false if @shaken
        @broken += 1
        @trouble.call("#{@settings.endpoint} #{WRONG}") if @broken > 1
        @join_at = Timeout.now + [0.05 * 2**@broken, SLOWEST].min
      end

      def join_again
        @join_at = nil
        begin
          @socket.disconnect(@settings.endpoint)
        rescue SystemCallError
          nil # libzmq has given it up
        end
        @socket.connect(@settings.endpoint)
      end

      # There is a peer, and it does not answer.
      def silence
        return if @answered || @asked.nil? || Timeout.now < @asked + PATIENCE
        @asked = nil
        @trouble.call("#{@settings.endpoint} #{WRONG} (it does not answer)")
      end

      def forget_finished
        @windows.reject! do |window|
          !window.equal?(@windows.first) && window.store.segments.empty? &&
            (window.store.close || true)
        end
      end

      def await(blocked)
        if blocked != @blocked
          @poller.modify(@socket, *(blocked ? %i[readable writable] : %i[readable]))
          @blocked = blocked
        end
        now = Timeout.now
        times = [
          *@windows.map(&:due), @until, @join_at, (@asked + PATIENCE if @asked && !@answered)
        ]
        seconds = times.compact.min&.then { |time| [time - now, 0].max }
        Thread.handle_interrupt(Object => :immediate) { @poller.wait(seconds) }
        @wakeup_reader.read_nonblock(64, exception: false)
      end

      # The first store is its owner's to close.
      def close_all
        @poller&.close
        @socket&.close
        @windows.drop(1).each { |window| window.store.close }
        [@wakeup_reader, @wakeup].each { |io| io&.close }
        @own_context&.close
      rescue Error => error
        @trouble.call(error)
      end
    end
    private_constant :DurableSender
  end
end
