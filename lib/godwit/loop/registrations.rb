# frozen_string_literal: true

module Godwit
  class Loop
    # What is registered: in the poller, and with its callbacks here. Each step leaves the two in a
    # state that the next call can put right, since an interrupt may come between them.
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
          raise Errors.build(
            PollerError, event, nil,
            "#{Errors.shown(thing)} has such a callback already: remove it first"
          )
        end
        @poller.__send__(:possible, event, thing, Poller::Event::BITS[event])
        @poller.modify(thing, *watch.events, event)
      end

      # Whatever ends it: what is in the poller is also here.
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

      # Out of the poller: also what an interrupt in the midst of a registration has left there.
      # @return [nil]
      def disown(object)
        @poller.remove(object)
        nil
      rescue PollerError
        nil
      rescue ClosedError
        raise unless @closed
      end
    end
  end
end
