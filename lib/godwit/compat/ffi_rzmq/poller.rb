# frozen_string_literal: true

module ZMQ
  # Waits for several sockets and IOs at once; time-outs are milliseconds. For one thread.
  class Poller
    # @return [Array<Object>] registered objects that were readable at the last {#poll}
    attr_reader :readables
    attr_reader :writables

    def initialize
      @items = PollItems.new
      @readables = []
      @writables = []
    end

    # @param timeout [Integer, Symbol] milliseconds; -1 or :blocking: without end
    # @return [Integer] number of ready objects; 0 at once if none is registered; -1 on failure
    def poll(timeout = :blocking)
      return 0 if @items.empty?
      return Failures.set_errno(ENOTSOCK) if @items.any?(&:closed?)
      @items.each { |item| item.target&.use }
      milliseconds = (timeout == :blocking) ? -1 : timeout.to_i
      milliseconds = 0 if @items.any?(&:rest?)
      update(wait(milliseconds.negative? ? nil : milliseconds / 1000.0))
    rescue Godwit::Error => error
      target = @items.filter_map(&:target).first # a socket knows whether its context was terminated
      target ? target.record(error) : Failures.set_errno(Failures.errno_of(error))
    end

    def poll_nonblock = poll(0)

    # @param events [Integer] bits `POLLIN` and `POLLOUT`, added to the registered ones
    # @return [Integer, nil] all registered events of the object; nil for no object or no event
    def register(pollable, events = POLLIN | POLLOUT)
      return if pollable.nil? || events.zero?
      item = @items[pollable] || (@items << PollItem.from_pollable(pollable))
      item.events |= events
      forget
      item.events
    end

    # @param events [Integer] events to remove; without a remaining event the object is removed
    def deregister(pollable, events)
      return unless pollable
      item = @items[pollable]
      return false unless item&.events&.anybits?(events)
      item.events &= ~events
      @items.delete(pollable) if item.events.zero? || item.closed?
      forget
      true
    end

    # The next methods are {#register} and {#deregister} for one event.
    def register_readable(pollable) = register(pollable, POLLIN)
    def register_writable(pollable) = register(pollable, POLLOUT)
    def deregister_readable(pollable) = deregister(pollable, POLLIN)
    def deregister_writable(pollable) = deregister(pollable, POLLOUT)

    def delete(pollable)
      forget
      @items.delete(pollable)
    end

    def size = @items.size
    def inspect = @items.inspect
    alias_method :to_s, :inspect

    private

    def wait(seconds)
      poller = (@poller ||= build)
      if poller.empty?
        sleep(*seconds) # no registered event can happen
        return {}
      end
      poller.wait(seconds).to_h do |event|
        [event.object, (event.readable? ? POLLIN : 0) | (event.writable? ? POLLOUT : 0)]
      end
    end

    def update(found)
      @readables.clear
      @writables.clear
      @items.count do |item|
        bits = found.fetch(item.godwit, 0)
        bits |= POLLIN if item.rest?
        item.revents = bits & item.events
        @readables << item.pollable if item.readable?
        @writables << item.pollable if item.writable?
        item.readable? || item.writable?
      end
    end

    # Called at the first poll after a registration: programs first register several objects.
    def build
      poller = Godwit::Poller.new
      @items.each do |item|
        events = []
        events << :readable if item.possible.anybits?(POLLIN)
        events << :writable if item.possible.anybits?(POLLOUT)
        poller.register(item.godwit, *events) if events.any?
      end
      poller
    end

    def forget
      @poller&.close
      @poller = nil
    end
  end
end
