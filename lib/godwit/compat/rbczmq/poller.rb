# frozen_string_literal: true

module ZMQ
  # Waits for several sockets and IOs, from any thread.
  class Poller
    def initialize
      @items = []
      @godwit = nil
      @verbose = false
      clear
    end

    attr_reader :readables, :writables

    def verbose=(flag)
      @verbose = (flag == true)
    end

    # @param seconds [Integer, Float, nil] nil, 0: does not wait; negative: without end
    # @return [Integer] number of ready items; -1 when a signal was handled
    def poll(seconds = nil)
      seconds = Arguments.type(seconds.nil? ? 0 : seconds, Integer, Float)
      clear
      return 0 if @items.empty?
      seconds = 0 if @items.any?(&:rest?)
      events = Interrupts.wait { wait(seconds) }
      unless events
        Failures.errno = Errno::EINTR::Errno
        return -1
      end
      found = sort(events)
      ZMQ.log("I: poller: #{found} of #{@items.size} ready") if @verbose
      found
    rescue Godwit::Error => error
      Failures.fail_with(error)
    end

    def poll_nonblock = poll(0)

    def register(thing)
      item = Pollitem.coerce(thing)
      close
      @items += [item]
      item
    end

    def register_readable(thing) = register(Pollitem.new(thing, POLLIN))
    def register_writable(thing) = register(Pollitem.new(thing, POLLOUT))

    # @return [Pollitem, false] the removed item; false if the thing is not registered
    def remove(thing)
      pollable = thing.is_a?(Pollitem) ? thing.pollable : thing
      item = @items.find { |one| one.equal?(thing) } ||
        @items.find { |one| one.pollable.equal?(pollable) } or return false
      close
      @items = @items.reject { |one| one.equal?(item) }
      item
    end

    # Frees the Godwit::Poller. The next {#poll} makes a new one.
    def close
      @godwit&.close
      @godwit = nil
    end

    private

    def clear
      @readables = []
      @writables = []
    end

    # Returns the Godwit::Poller, which has each socket or IO once, with all events of its items.
    def godwit
      @godwit ||= Godwit::Poller.new.tap do |poller|
        @items.group_by(&:pollable).each_value do |items|
          bits = items.map(&:possible).reduce(:|)
          poller.register(items.first.godwit, *Pollitem.symbols(bits)) unless bits.zero?
        end
      end
    end

    def wait(seconds)
      return godwit.wait(seconds.negative? ? nil : seconds) unless godwit.empty?
      seconds.negative? ? sleep : sleep(seconds)
      []
    end

    def sort(events)
      ready = events.to_h { |event| [event.object.__id__, bits_of(event)] }
      @items.count do |item|
        bits = ready.fetch(item.godwit.__id__, 0) & item.possible
        bits |= POLLIN if item.rest?
        @readables << item.pollable if bits.anybits?(POLLIN)
        @writables << item.pollable if bits.anybits?(POLLOUT)
        bits.positive?
      end
    end

    # A broken IO counts as ready, so that the script's next call on it raises.
    def bits_of(event)
      return POLLIN | POLLOUT if event.error?
      (event.readable? ? POLLIN : 0) | (event.writable? ? POLLOUT : 0)
    end
  end
end
