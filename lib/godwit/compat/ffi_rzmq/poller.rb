# frozen_string_literal: true

module ZMQ
  # Waits for several sockets and IOs at once, in milliseconds. For one thread.
  class Poller
    # @return [Array<Object>] of those registered, those that can be read since the last {#poll}
    attr_reader :readables
    # @return [Array<Object>] of those registered, those that can be written since the last {#poll}
    attr_reader :writables

    # One that watches nothing yet.
    def initialize
      @items = PollItems.new
      @readables = []
      @writables = []
    end

    # @param timeout [Integer, Symbol] milliseconds; -1 or :blocking: for ever
    # @return [Integer] how many can be read or written; 0 at once when nothing is registered; -1
    #   when it failed
    def poll(timeout = :blocking)
      return 0 if @items.empty?
      return failed(ENOTSOCK) if @items.any?(&:closed?)
      @items.each { |item| item.target&.use }
      milliseconds = (timeout == :blocking) ? -1 : timeout.to_i
      milliseconds = 0 if @items.any? { |item| begun?(item) }
      update(wait(milliseconds.negative? ? nil : milliseconds / 1000.0))
    rescue Godwit::Error => error
      # Which knows of its context.
      @items.each { |item| return item.target.note(error) if item.target }
      failed(Godwit::Compat::FFIRzmq::Failures.errno_of(error))
    end

    # @return [Integer] {#poll} without waiting
    def poll_nonblock = poll(0)

    # @param pollable [Object] see {PollItem}
    # @param events [Integer] `POLLIN`, `POLLOUT`, added to those that it is watched for
    # @return [Integer, nil] all that it is watched for; nil when there is nothing to do
    # @raise [TypeError] when it is nothing that can be watched
    def register(pollable, events = POLLIN | POLLOUT)
      return if pollable.nil? || events.zero?
      item = @items[pollable] || PollItem.from_pollable(pollable).tap { |added| @items << added }
      item.events |= events
      forget
      item.events
    end

    # @param pollable [Object]
    # @param events [Integer] no longer watched for; when none is left it is deleted
    # @return [Boolean, nil] whether it was watched for one of them
    def deregister(pollable, events)
      return unless pollable
      item = @items[pollable]
      return false unless item&.events&.anybits?(events)
      item.events &= ~events
      @items.delete(pollable) if item.events.zero? || item.closed?
      forget
      true
    end

    # @param pollable [Object]
    # @return [Integer, nil] see {#register}
    def register_readable(pollable) = register(pollable, POLLIN)

    # @param pollable [Object]
    # @return [Integer, nil] see {#register}
    def register_writable(pollable) = register(pollable, POLLOUT)

    # @param pollable [Object]
    # @return [Boolean, nil] see {#deregister}
    def deregister_readable(pollable) = deregister(pollable, POLLIN)

    # @param pollable [Object]
    # @return [Boolean, nil] see {#deregister}
    def deregister_writable(pollable) = deregister(pollable, POLLOUT)

    # @param pollable [Object]
    # @return [Boolean] whether it was registered
    def delete(pollable)
      forget
      @items.delete(pollable)
    end

    # @return [Integer] how many are registered
    def size = @items.size

    # @return [String]
    def inspect = @items.inspect
    alias_method :to_s, :inspect

    private

    def failed(errno) = Godwit::Compat::FFIRzmq::Failures.note(errno)

    # The rest of a message that was begun is here already.
    def begun?(item) = item.target && item.events.anybits?(POLLIN) && item.target.rest?

    # @return [Hash] events, by what Godwit's poller watches
    def wait(seconds)
      poller = (@poller ||= build)
      if poller.empty?
        sleep(*seconds) # for what never comes
        return {}
      end
      poller
        .wait(seconds)
        .to_h do |event|
          [event.object, (event.readable? ? POLLIN : 0) | (event.writable? ? POLLOUT : 0)]
        end
    end

    def update(found)
      @readables.clear
      @writables.clear
      @items.each do |item|
        bits = found.fetch(item.target ? item.target.godwit : item.io, 0)
        bits |= POLLIN if begun?(item)
        item.revents = bits & item.events
        @readables << item.pollable if item.readable?
        @writables << item.pollable if item.writable?
      end
      @items.count { |item| item.readable? || item.writable? }
    end

    # Built at the next poll: programs register before they poll.
    def build
      poller = Godwit::Poller.new
      @watched = {}
      @items.each { |item| watch(poller, item) }
      poller
    end

    def watch(poller, item)
      thing = item.target ? item.target.godwit : item.io
      events = []
      events << :readable if item.possible.anybits?(POLLIN)
      events << :writable if item.possible.anybits?(POLLOUT)
      poller.register(thing, *events) if events.any?
    end

    def forget
      @poller&.close
      @poller = nil
    end
  end
end
