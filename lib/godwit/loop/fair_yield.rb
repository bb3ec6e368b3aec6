# frozen_string_literal: true

module Godwit
  class Loop
    # What {Loop#run} does, turn by turn: wait, call each callback whose socket or IO is ready once,
    # fire timers, run what was posted.
    # @private
    module FairYield
      # More wait for the next turn, so that sockets come in between.
      TIMERS_PER_TURN = 256
      NOTHING = [].freeze
      private_constant :TIMERS_PER_TURN, :NOTHING

      private

      # One thread or fiber runs it at a time.
      def claim(token)
        locked(:run) do
          if claimed?
            raise Errors.build(
              StateError, :run, nil, "this loop runs already: stop it first, or make another"
            )
          end
          @runner = Thread.current
          @calling = false
          @token = token
        end
      end

      # Not by a thread that was killed while its fibers waited: Ruby drops those, and runs no
      # `ensure` of theirs.
      def claimed?
        !@token.nil? && @runner.alive?
      end

      # A {Loop#stop} holds for one run.
      def release(token)
        at_once do
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
          one_turn(events)
          @calling = false
        end
        :stopped
      end

      def one_turn(events)
        events.each { |event| dispatch(event) unless @stopping }
        fire_timers
        run_posted unless @stopping
      end

      # What a callback changes comes before this look at what there is to do; what others change
      # wakes the loop.
      def ready
        @poller.wait((@posted.empty? && !@stopping) ? @timers.next_in : 0)
      rescue ClosedError, ContextTerminatedError => error
        sweep(error) unless @closed
        NOTHING
      end

      # Takes one out that is closed, or whose context has ended, and tells of it; the next turn
      # finds the next one.
      def sweep(error)
        ended = error.is_a?(ClosedError) ? :closed? : :terminated?
        object, watch = locked(:run) { @watches.find { |_, watch| watch.public_send(ended) } }
        raise error unless watch
        drop(object, watch)
        tell(closed_elsewhere(error, object), object)
      end

      def closed_elsewhere(error, object)
        what, fix =
          (
            if error.is_a?(ClosedError)
              ["was closed", "remove it before that, or close it in its own callback"]
            else
              ["has lost its context", "close it"]
            end
          )
        Errors.build(
          error.class,
          :run,
          nil,
          "#{Errors.shown(object)} #{what} while it was registered in a loop, which has taken it " \
          "out: #{fix}"
        )
      end

      def dispatch(event)
        object = event.object
        return silence if object.equal?(@wakeup)
        call_for(object, :readable) if event.readable?
        call_for(object, :writable) if event.writable? && !@stopping
      end

      # An earlier callback of this turn may have taken it out, or closed it; of that the next wait
      # tells.
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
        tell(error, argument)
      end

      def tell(error, source)
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

      # What is posted meanwhile waits for the next turn.
      def run_posted
        @posted.size.times do
          call(@posted.pop(true), self)
          break if @stopping
        end
      end

      # The bell is one end of a pair of sockets to which nobody writes: never readable, always
      # writable. Which of the two the poller looks for says whether it rings; so ringing is a
      # change of state and nothing that may be full, and works in a trap block.
      def wake
        return if @calling && Thread.current.equal?(@runner)
        @poller.modify(@wakeup, :writable)
      rescue ClosedError
        raise unless @closed
      end

      def silence
        @poller.modify(@wakeup, :readable)
      rescue ClosedError
        raise unless @closed
      end
    end
  end
end
