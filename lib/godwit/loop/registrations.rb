# frozen_string_literal: true

module Godwit
  class Loop
    # Registers sockets and IOs in the poller, and their callbacks in @watches. An interrupt may
    # come between the two; each step leaves a state that the next call can repair.
    # @private
    module Registrations
      private

      def watch(thing, event, block)
        raise Errors.bad_value(event, "the call", "a block to run", nil) unless block
        usable(event)
        locked(event) do
          watch = @watches[thing]
          extend_to(watch, thing, event) if watch
          watch ||= enter(thing, event)
          watch.add(event, block, @turn)
        end
        self
      end

      def extend_to(watch, thing, event)
        if watch.has?(event)
          words = "#{Errors.shown(thing)} has such a callback already: remove it first"
          refuse(PollerError, event, words)
        end
        @poller.possible(event, thing, Poller::Event::BITS[event])
        @poller.modify(thing, *watch.events, event)
      end

      def enter(thing, event)
        @poller.register(thing, event)
        @watches[thing] = Watch.new(thing)
      ensure
        disown(thing) unless @watches.key?(thing)
      end

      def unwatch(thing, watch, events)
        left = watch.events - events
        if left.empty?
          disown(thing)
          @watches.delete(thing)
        else
          @poller.modify(thing, *left)
          events.each { |event| watch.remove(event) }
        end
      end

      def drop(object, watch)
        locked(:run) do
          next unless @watches[object].equal?(watch)
          disown(object)
          @watches.delete(object)
        end
      end

      # Removes it from the poller, also after an interrupt in the middle of a registration.
      def disown(object)
        @poller.remove(object)
        nil
      rescue PollerError
        nil
      rescue ClosedError
        raise unless @closed
      end
    end

    # The callbacks of one socket or IO.
    # @private
    class Watch
      def initialize(object)
        @io = (Socket === object) ? object : IO.try_convert(object)
        @entries = {} # event => callback, and the turn in which it was registered
      end

      def has?(event) = @entries.key?(event)

      def add(event, callback, turn)
        @entries[event] = [callback, turn]
      end

      def remove(event) = @entries.delete(event)

      # @return [Proc, nil] nil when the callback was registered in this turn, after the event was
      #   seen
      def callback(event, turn)
        callback, since = @entries[event]
        callback unless since == turn
      end

      def events = @entries.keys
      def closed? = @io.closed?

      # @return [Boolean] whether the context of a socket was shut down
      def terminated?
        @io.events if Socket === @io
        false
      rescue ContextTerminatedError
        true
      rescue Error
        false
      end
    end
  end
end
