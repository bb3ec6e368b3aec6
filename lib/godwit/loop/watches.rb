# frozen_string_literal: true

require "socket"

module Godwit
  class Loop
    # The poller of a loop, with sockets and IOs, and their callbacks. If an interrupt comes after
    # a change of the poller and before that of the callbacks, the next call repairs the state.
    # @private
    class Watches
      def initialize
        @lock = Mutex.new
        @watches = {}.compare_by_identity
        @closed = false
        # No bytes go through this socket pair: it is always writable, never readable. To wake the
        # poller, {#wake} lets it watch the pair for :writable: that works in a trap block too.
        @wakeup, @silent = UNIXSocket.pair
        @poller = Poller.new(@wakeup)
      end

      def [](thing) = @lock.synchronize { @watches[thing] }
      def key?(thing) = @watches.key?(thing)
      def empty? = @watches.empty?
      def size = @watches.size
      def forked? = @poller.forked?
      def waiters = @poller.__send__(:_waiters)
      def wait(seconds) = @poller.wait(seconds)
      def wakeup?(object) = object.equal?(@wakeup)
      def wake = watch_wakeup(:writable)
      def silence = watch_wakeup(:readable)

      def add(thing, event, block, turn)
        locked(event) do
          watch = @watches[thing]
          extend_to(watch, thing, event) if watch
          watch ||= enter(thing, event)
          watch.add(event, block, turn)
        end
      end

      def remove(thing, events)
        locked(:remove) do
          watch = @watches[thing] or next false
          events = watch.events & (events.empty? ? watch.events : events)
          unwatch(thing, watch, events)
          events.any?
        end
      end

      # Removes an object, unless it was registered again meanwhile, with another Watch.
      def drop(object, watch)
        locked(:run) do
          next unless @watches[object].equal?(watch)
          disown(object)
          @watches.delete(object)
        end
      end

      # @return [Socket, IO, #to_io, nil] the removed object: closed, or without its context
      def drop_ended(error)
        ended = error.is_a?(ClosedError) ? :closed? : :terminated?
        object, watch = locked(:run) { @watches.find { |_, watch| watch.public_send(ended) } }
        drop(object, watch) if watch
        object
      end

      # Removes an object, which an interrupted registration may have left out of the poller.
      def disown(object)
        @poller.remove(object)
        nil
      rescue PollerError
        nil
      rescue ClosedError
        raise unless @closed
      end

      def close
        @closed = true
        [@poller, @wakeup, @silent].each(&:close)
      end

      private

      def locked(operation, &block) = Timers.locked(@lock, operation, &block)

      def extend_to(watch, thing, event)
        if watch.has?(event)
          words = "#{Errors.shown(thing)} has such a callback already: remove it first"
          raise Errors.build(PollerError, event, nil, words)
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
        remaining = watch.events - events
        if remaining.empty?
          disown(thing)
          @watches.delete(thing)
        else
          @poller.modify(thing, *remaining)
          events.each { |event| watch.remove(event) }
        end
      end

      def watch_wakeup(event)
        @poller.modify(@wakeup, event)
      rescue ClosedError
        raise unless @closed
      end
    end

    # The callbacks of one socket or IO.
    # @private
    class Watch
      def initialize(object)
        @io = (Socket === object) ? object : IO.try_convert(object)
        @entries = {} # event => its callback, and the turn that registered the callback
      end

      def has?(event) = @entries.key?(event)

      def add(event, callback, turn)
        @entries[event] = [callback, turn]
      end

      def remove(event) = @entries.delete(event)

      # Returns nil if the callback was registered in this turn, after the poller saw the event.
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
