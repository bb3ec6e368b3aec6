# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # A loop that moves messages between two sockets (law 12, ADR 12), in a thread of its own.
    # While it runs only this loop calls libzmq on the sockets. Other threads set a variable and
    # wake it.
    class ProxyHandle
      BURST = Constants::PROXY_BURST
      SENDERS = [PUSH, PUB].freeze # they receive nothing
      RECEIVERS = [PULL, SUB].freeze
      private_constant :BURST, :SENDERS, :RECEIVERS

      attr_accessor :paused
      attr_writer :observer

      # @param sockets [Array<SocketHandle, nil>] front end, back end, capture
      # @raise [Failed]
      def initialize(sockets)
        front, back, @capture = @order = sockets
        @generation = ForkDetector::COUNT[0]
        @wake = LibC.event_io
        @sockets = sockets.compact.uniq
        @counts = @sockets.to_h { |socket| [socket, [0, 0, 0, 0]] }.compare_by_identity
        @dropped = 0
        @directions = [direction(front, back, true), direction(back, front, !front.equal?(back))]
        @paused = @stopping = @ended = @running = @asleep = false
      end

      # Whether its loop has nothing to do, and sleeps or is about to.
      def asleep? = @asleep

      def forked? = @generation != ForkDetector::COUNT[0]

      def running? = @running && !forked?

      def counters = [*@order.flat_map { |socket| @counts.fetch(socket, [0] * 4) }, @dropped]

      def received(socket, bytes, messages) = count(socket, 0, bytes, messages)

      def sent(socket, bytes) = count(socket, 2, bytes)

      def observe = @observer&.record(yield)

      # @return [Array<Array<String>>, nil] the messages that go on instead of this one
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
          @sockets.each do |socket|
            socket.acquire(self)
            acquired << socket
          end
          @stopping = @ended = false
          @running = true
        ensure
          acquired.each(&:release_from_proxy) unless @running
        end
      end

      def release_from_proxy
        return if !@running || forked?
        @running = false
        @sockets.each(&:release_from_proxy)
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
        waiter = Waiter.take(READABLE)
        until Thread.handle_interrupt(Lock::NEVER) { turn } == :over
          next unless @idle
          begin
            @asleep = true
            fds = [@wake.fileno, *@sockets.map { |socket| socket.raw.fd }]
            waiter.pause(fds.flat_map { |fd| [fd, POLLIN] }, nil)
          ensure
            @asleep = false
          end
        end
      ensure
        waiter&.put_back
      end

      private

      def direction(from, to, other)
        live = other && !SENDERS.include?(from.type) && !from.publisher? &&
          !RECEIVERS.include?(to.type)
        ProxyDirection.new(from, to, @capture, live, self)
      end

      def count(socket, index, bytes, messages = 1)
        counts = @counts[socket]
        counts[index] += messages
        counts[index + 1] += bytes
      end

      # It may sleep when the last call on each socket was a look at its events that found nothing
      # to do. With an unsent message a try to send comes after that look, and either may consume
      # the other's edge: then only after a turn without any edge.
      def turn
        LibC.empty(@wake) # before the variables are looked at: no wake-up is lost
        raise Failed, ClosedError if @ended
        return :over if @stopping
        @progress = false
        in_hand = !@paused && @directions.any?(&:in_hand?)
        any_edge? if in_hand
        events = events_of_all
        @directions.each { |direction| take_turn(direction, events) } unless @paused
        @idle = !@progress && !(in_hand && any_edge?)
        :on
      end

      # libzmq's events of all, which also empties their mailboxes. A socket that only sends
      # receives subscriptions, which would pile up.
      def events_of_all
        @sockets.to_h do |socket|
          events = socket.raw.events
          if events.anybits?(READABLE) &&
              (socket.publisher? || (socket.equal?(@capture) && socket.type == XPUB))
            error = socket.sender.drain_subscriptions
            raise Failed, error unless error == EAGAIN
            @progress = true
          end
          [socket, events]
        end.compare_by_identity
      end

      # Nothing is taken that has nowhere to go, as far as libzmq can tell beforehand: then
      # high-water marks hold the senders back.
      def take_turn(direction, events)
        if direction.in_hand?
          @progress = true if done?(direction.pass)
          return
        end
        readable = direction.live? && events[direction.from].anybits?(READABLE)
        return unless direction.remaining? || readable
        # A REP has room once it has taken a request.
        return if events[direction.to].nobits?(WRITABLE) && !direction.to.equal?(direction.from)
        return if @capture && events[@capture].nobits?(WRITABLE)
        @progress = true
        BURST.times do
          break if @stopping || @ended || @paused
          break unless done?(direction.take) && done?(direction.pass)
        end
      end

      def done?(error)
        raise Failed, error unless error.zero? || error == EAGAIN
        error.zero?
      end

      def any_edge?
        # Each socket is asked, which resets its edge.
        @sockets.map { |socket| socket.raw.edge_passed? }.any?
      end
    end
  end
end
