# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # A loop that moves messages between two sockets (law 12, ADR 12), in a thread of its own.
      # While it runs the sockets are lent: the loop alone calls libzmq on them. Everybody else sets
      # a word and wakes it.
      # @private
      class ProxyHandle
        BURST = Constants::PROXY_BURST

        attr_reader :dropped
        attr_accessor :paused
        # What is told of each message.
        attr_writer :observer

        # @param places [Array] front end, back end, capture or nil
        # @raise [Failed]
        def initialize(places)
          front, back, capture = places
          @pid = Process.pid
          @wake = LibC.event_io
          @places = places.compact.uniq
          @capture = capture
          @counts = places.compact.to_h { |place| [place, [0, 0, 0, 0]] }.compare_by_identity
          @counter_order = places
          @dropped = 0
          @directions = [way(front, back, true), way(back, front, !front.equal?(back))]
          @observer = nil
          @paused = @stopping = @ended = @running = @asleep = false
        end

        # Whether its loop has nothing to do, and sleeps or is about to.
        def asleep? = @asleep

        def forked? = @pid != Process.pid

        def running? = @running && !forked?

        def counters
          [*@counter_order.flat_map { |place| place ? @counts[place] : [0, 0, 0, 0] }, @dropped]
        end

        def received(place, bytes, messages) = count(place, 0, bytes, messages)

        def sent(place, bytes) = count(place, 2, bytes)

        def observe = @observer&.record(yield)

        # @return [Array<Array<String>>, nil] what goes on instead of a message
        def split = @observer&.split(yield)

        def drop
          @dropped += 1
        end

        # Takes all sockets or none.
        # @return [Boolean] false when it runs already
        # @raise [Failed]
        def acquire
          return false if @running
          acquired = []
          begin
            @places.each do |place|
              place.acquire(self)
              acquired << place
            end
            @stopping = @ended = false
            whole = @running = true
          ensure
            acquired.each(&:release_from_proxy) unless whole
          end
        end

        def release_from_proxy
          return if !@running || forked?
          @running = false
          @places.each(&:release_from_proxy)
        end

        def stop
          @stopping = true
          wake
        end

        # One of its sockets was closed.
        def end
          @ended = true
          wake
        end

        def wake = LibC.eventfd_write(@wake.fileno, 1)

        # Until it is stopped, or interrupted between two turns.
        # @raise [Failed] when it cannot go on
        def run
          until Thread.handle_interrupt(Lock::NEVER) { turn } == :over
            next unless @idle_ios
            begin
              @asleep = true
              doze
            ensure
              @asleep = false
            end
          end
        end

        # The Proxy was collected. Its thread holds it while it runs.
        def collected
          @directions.each(&:free)
        end

        private

        if RUBY_ENGINE == "jruby"
          def doze = InterruptiblePoll.wait(@idle_ios, nil)
        else
          def doze = IO.select(@idle_ios)
        end

        def way(from, to, other)
          live = other && from.receives? && to.sends?
          ProxyWay.new(from, to, @capture, live, self)
        end

        def count(place, index, bytes, messages = 1)
          counts = @counts[place]
          counts[index] += messages
          counts[index + 1] += bytes
        end

        # It may sleep when the last call on each socket was a look at its events that found nothing
        # to do. With a message in hand a try to send comes after that look, and either may swallow
        # what the other waits for: then only after a turn in which nobody wrote or read a mailbox.
        def turn
          LibC.empty(@wake) # before the words are looked at: none is lost
          raise Failed, ClosedError if @ended
          return :over if @stopping
          @progress = false
          in_hand = !@paused && @directions.any?(&:in_hand?)
          any_edge? if in_hand
          events = look
          @directions.each { |direction| take_turn(direction, events) } unless @paused
          idle = !@progress && !(in_hand && any_edge?)
          @idle_ios = (@places.map(&:io) << @wake if idle)
          :on
        end

        # libzmq's events of all, which also empties their mailboxes. What a socket that only sends
        # gets are subscriptions, which would pile up.
        def look
          @places.to_h do |place|
            events = place.events
            if events.anybits?(READABLE) &&
                (place.publisher? || (place.equal?(@capture) && place.type == XPUB))
              error = place.drain_subscriptions
              raise Failed, error unless error == EAGAIN
              @progress = true
            end
            [place, events]
          end.compare_by_identity
        end

        # Nothing is taken that has nowhere to go, as far as libzmq can tell beforehand: then
        # high-water marks hold the senders back.
        def take_turn(direction, events)
          if direction.in_hand?
            return @progress = true if done?(direction.pass)
            return
          end
          if !direction.left? && (!direction.live? || events[direction.from].nobits?(READABLE))
            return
          end
          # A REP has room once it has taken a request.
          return if events[direction.to].nobits?(WRITABLE) && !direction.to.equal?(direction.from)
          return if @capture && events[@capture].nobits?(WRITABLE)
          @progress = true
          BURST.times do
            if @stopping || @ended || @paused || !done?(direction.take) || !done?(direction.pass)
              break
            end
          end
        end

        def done?(error)
          raise Failed, error unless error.zero? || error == EAGAIN
          error.zero?
        end

        def any_edge?
          @places.map(&:edge_passed?).any? # all are asked: asking forgets
        end
      end
    end
  end
end
