# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # The loop of a proxy, which passes messages between two sockets (ADR 12). While the loop runs,
    # no other code calls libzmq on the sockets. Other threads set a variable and wake the loop.
    class ProxyHandle
      SENDERS = [PUSH, PUB].freeze # types that cannot receive
      RECEIVERS = [PULL, SUB].freeze # types that cannot send

      attr_accessor :paused
      attr_writer :observer

      def initialize(sockets)
        front, back, @capture = @order = sockets
        @wake = LibC.event_io
        @sockets = sockets.compact.uniq
        @counts = @sockets.to_h { |socket| [socket, [0, 0, 0, 0]] }.compare_by_identity
        @dropped = 0
        @directions = [direction(front, back, true), direction(back, front, !front.equal?(back))]
        @paused = @stopping = @ended = @running = @asleep = false
      end

      # @return [Boolean] whether the loop sleeps or is about to sleep
      def asleep? = @asleep

      def running? = @running

      def counters = [*@order.flat_map { |socket| @counts.fetch(socket, [0] * 4) }, @dropped]

      def received(socket, bytes, messages) = count(socket, 0, bytes, messages)

      def sent(socket, bytes) = count(socket, 2, bytes)

      def observe = @observer&.record(yield)

      # @return [Array<Array<String>>, nil] the messages of a batch; nil: the message is no batch
      def split = @observer&.split(yield)

      def drop
        @dropped += 1
      end

      # Acquires all sockets or none. Returns false when the proxy runs already.
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
        return unless @running
        @running = false
        @sockets.each(&:release_from_proxy)
      end

      def stop
        @stopping = true
        wake
      end

      # Ends the loop after one of its sockets was closed.
      def end
        @ended = true
        wake
      end

      def wake = LibC.eventfd_write(@wake.fileno, 1)

      # Runs until the proxy is stopped, or interrupted between two turns.
      def run
        waiter = Waiter.claim(READABLE)
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
        waiter&.release
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

      # The loop may sleep after it has read the events of every socket and found none. But a send
      # after that read may consume the edge of a new event. So while a message is unsent, the loop
      # sleeps only after a turn in which no socket had an edge.
      def turn
        LibC.drain(@wake) # the drain precedes the reads of the variables, so no wake-up is lost
        raise Failed, ClosedError if @ended
        return :over if @stopping
        @progress = false
        unsent = !@paused && @directions.any?(&:unsent?)
        any_edge? if unsent
        events = events_of_all
        @directions.each { |direction| take_turn(direction, events) } unless @paused
        @idle = !@progress && !(unsent && any_edge?)
        :on
      end

      # Reads the events of all sockets, which also empties their mailboxes, and drains the
      # subscriptions of sockets that only send.
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

      # Passes messages in one direction. A turn receives nothing while `to` is not writable, so the
      # high-water mark of `to` stops the senders too.
      def take_turn(direction, events)
        if direction.unsent?
          @progress = true if done?(direction.pass)
          return
        end
        readable = direction.live? && events[direction.from].anybits?(READABLE)
        return unless direction.remaining? || readable
        # If both sides are one REP, the REP is writable only once it has received a request.
        return if events[direction.to].nobits?(WRITABLE) && !direction.to.equal?(direction.from)
        return if @capture && events[@capture].nobits?(WRITABLE)
        @progress = true
        Constants::PROXY_BURST.times do
          break if @stopping || @ended || @paused
          break unless done?(direction.receive) && done?(direction.pass)
        end
      end

      def done?(error)
        raise Failed, error unless error.zero? || error == EAGAIN
        error.zero?
      end

      def any_edge?
        # `map` calls edge_passed? on every socket, since each call resets the socket's edge.
        @sockets.map { |socket| socket.raw.edge_passed? }.any?
      end
    end
  end
end
