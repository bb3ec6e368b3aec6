# frozen_string_literal: true

module Godwit
  class Loop
    # {Loop#run}, turn by turn: wait, call the callbacks of what is ready, fire timers, run what was
    # posted.
    # @private
    module FairYield
      # More timers wait for the next turn, so that sockets come in between.
      TIMERS_PER_TURN = 256
      NOTHING = [].freeze
      private_constant :TIMERS_PER_TURN, :NOTHING

      private

      # One thread or fiber runs the loop at a time.
      def claim(token)
        locked(:run) do
          if claimed?
            refuse(StateError, :run, "this loop runs already: stop it first, or make another")
          end
          @runner = Thread.current
          @calling = false
          @token = token
        end
      end

      # A killed thread runs no `ensure` of its waiting fibers, so its claim ends with the thread.
      def claimed? = !@token.nil? && @runner.alive?

      # Also ends the effect of {Loop#stop}.
      def release(token)
        without_interrupts do
          next unless @token.equal?(token)
          @calling = false
          @stopping = false
          @token = nil
        end
      end

      def turns(forever)
        until @stopping
          return :empty unless forever || !empty?
          events = ready
          @calling = true
          @turn += 1
          events.each { |event| dispatch(event) unless @stopping }
          fire_timers
          run_posted unless @stopping
          @calling = false
        end
        :stopped
      end

      # Callbacks have made their changes before this wait; a change by another thread wakes it.
      def ready
        @poller.wait((@posted.empty? && !@stopping) ? @timers.next_in : 0)
      rescue ClosedError, ContextTerminatedError => error
        sweep(error) unless @closed
        NOTHING
      end

      # Removes one that is closed, or whose context has ended, and reports it. The next turn finds
      # the next one.
      def sweep(error)
        ended = error.is_a?(ClosedError) ? :closed? : :terminated?
        object, watch = locked(:run) { @watches.find { |_, watch| watch.public_send(ended) } }
        raise error unless watch
        drop(object, watch)
        report(closed_elsewhere(error, object), object)
      end

      def closed_elsewhere(error, object)
        what = "has lost its context"
        fix = "close it"
        if error.is_a?(ClosedError)
          what = "was closed"
          fix = "remove it before that, or close it in its own callback"
        end
        words = "#{Errors.shown(object)} #{what} while it was registered in a loop, which has " \
          "taken it out: #{fix}"
        Errors.build(error.class, :run, nil, words)
      end

      def dispatch(event)
        object = event.object
        return silence if object.equal?(@wakeup)
        call_for(object, :readable) if event.readable?
        call_for(object, :writable) if event.writable? && !@stopping
      end

      # An earlier callback of this turn may have removed it, or closed it; the next wait reports
      # that.
      def call_for(object, event)
        watch = @lock.synchronize { @watches[object] } or return disown(object)
        callback = watch.callback(event, @turn)
        return if callback.nil? || watch.closed?
        begin
          call(callback, object)
        ensure
          drop(object, watch) if watch.closed?
        end
      end

      def call(callback, argument)
        callback.call(argument)
      rescue => error
        report(error, argument)
      end

      def report(error, source)
        raise error unless @on_error
        @on_error.call(error, source)
      end

      def fire_timers
        return if @timers.empty?
        moment = @timers.now
        TIMERS_PER_TURN.times do
          break if @stopping
          timer = @timers.take(moment) or break
          call(timer.callback, timer)
        end
      end

      # Blocks posted meanwhile wait for the next turn.
      def run_posted
        @posted.size.times do
          call(@posted.pop(true), self)
          break if @stopping
        end
      end

      # The pair of sockets behind @wakeup has no traffic: always writable, never readable. Watching
      # it for writability wakes the poller. This needs no buffer that could be full, and works in a
      # trap block.
      def wake
        return if @calling && Thread.current.equal?(@runner)
        watch_wakeup(:writable)
      end

      def silence = watch_wakeup(:readable)

      def watch_wakeup(event)
        @poller.modify(@wakeup, event)
      rescue ClosedError
        raise unless @closed
      end
    end
  end
end
