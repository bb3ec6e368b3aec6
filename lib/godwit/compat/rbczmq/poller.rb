# frozen_string_literal: true

module ZMQ
  # Waits for several sockets and IOs, from any thread.
  class Poller
    Failures = Godwit::Compat::Rbczmq::Failures
    Interrupts = Godwit::Compat::Rbczmq::Interrupts
    private_constant :Failures, :Interrupts

    def initialize
      @items = []
      @inner = nil
      @verbose = false
      nothing
    end

    # @return [Array<Socket, IO>] what the last poll found
    attr_reader :readables, :writables

    # @param flag [Boolean] whether to print what it does
    def verbose=(flag)
      @verbose = (flag == true)
    end

    # @param seconds [Integer, Float, nil] nil or 0: a look; negative: for ever
    # @return [Integer] how many items are ready; -1 when a signal was handled
    def poll(seconds = nil)
      seconds = Godwit::Compat::Rbczmq::Arguments.type(seconds.nil? ? 0 : seconds, Integer, Float)
      nothing
      return 0 if @items.empty?
      waiting = @items.any?(&:rest?)
      events = Interrupts.wait { wait(waiting ? 0 : seconds) }
      return interrupted unless events
      found = sort(events)
      ZMQ.log("I: poller: #{found} of #{@items.size} ready") if @verbose
      found
    rescue Godwit::Error => error
      Failures.fail_with(error)
    end

    # @return [Integer] as {#poll}
    def poll_nonblock = poll(0)

    # @param thing [Pollitem, Socket, IO]
    # @return [Pollitem]
    def register(thing)
      item = Pollitem.coerce(thing)
      renew
      @items += [item]
      item
    end

    # @return [Pollitem]
    def register_readable(thing) = register(Pollitem.new(thing, POLLIN))

    # @return [Pollitem]
    def register_writable(thing) = register(Pollitem.new(thing, POLLOUT))

    # @param thing [Pollitem, Socket, IO]
    # @return [Pollitem, false] false when it is not there
    def remove(thing)
      pollable = thing.is_a?(Pollitem) ? thing.pollable : thing
      item =
        @items.find { |one| one.equal?(thing) } ||
        @items.find { |one| one.pollable.equal?(pollable) } or return false
      renew
      @items = @items.reject { |one| one.equal?(item) }
      item
    end

    # @private
    # What select is done with.
    def close
      renew
    end

    private

    def nothing
      @readables = []
      @writables = []
    end

    def renew
      @inner&.close
      @inner = nil
    end

    def interrupted
      Failures.errno = Errno::EINTR::Errno
      -1
    end

    # One registration for each socket and IO, of all that its items want.
    def inner
      @inner ||= Godwit::Poller.new.tap do |poller|
        @items.group_by(&:pollable).each_value do |items|
          bits = items.map(&:possible).reduce(:|)
          poller.register(items.first.inner, *Pollitem.symbols(bits)) unless bits.zero?
        end
      end
    end

    def wait(seconds)
      return inner.wait(seconds.negative? ? nil : seconds) unless inner.empty?
      seconds.negative? ? sleep : sleep(seconds)
      []
    end

    def sort(events)
      ready = events.to_h { |event| [event.object.__id__, bits_of(event)] }
      @items.count do |item|
        bits = ready.fetch(item.inner.__id__, 0) & item.possible
        bits |= POLLIN if item.rest?
        @readables << item.pollable if bits.anybits?(POLLIN)
        @writables << item.pollable if bits.anybits?(POLLOUT)
        bits.positive?
      end
    end

    # An IO that is broken is worth a call that says so.
    def bits_of(event)
      return POLLIN | POLLOUT if event.error?
      (event.readable? ? POLLIN : 0) | (event.writable? ? POLLOUT : 0)
    end
  end
end
