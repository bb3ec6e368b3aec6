# frozen_string_literal: true

require_relative "poller/event"

module Godwit
  # Waits for several sockets and IOs at once.
  #
  #   poller = Godwit::Poller.new(pull, $stdin)          # for reading
  #   poller.register(push, :writable)
  #   poller.wait(1.5).each { |event| p event.object, event.readable?, event.writable? }
  #
  # **Level-triggered**: what was reported and not dealt with is reported again by the next wait.
  # Another thread may deal with it first; so an event says that a call would probably not wait, and
  # `recv_nonblock` is the call to make where several receive.
  #
  # **Threads and fibers**: any number may use one poller at once, also to wait, and may use what is
  # registered meanwhile. Each that waits is told of every event. What one registers, modifies or
  # removes holds for those that wait already. With a `Fiber.scheduler`, waiting lets other fibers
  # run (some 100 fibers at most can wait on one poller: Linux allows no more paths of wake-ups). A
  # wait ends on `Thread#kill`, `Thread#raise`, `Timeout`, a signal, {#close} (with {ClosedError}),
  # the close of a socket that is registered (with {ClosedError}, until it is removed), and
  # {Context#shutdown} of one (with {ContextTerminatedError}).
  #
  # **Fork**: in a child every method of an inherited poller raises {ForkedError}.
  #
  # @see http://api.zeromq.org/4-3:zmq-poll zmq_poll(3)
  class Poller
    include Enumerable

    class << self
      # Makes a poller. With a block: yields it, closes it afterwards, and gives the block's value.
      # @param things [Array<Socket, IO, #to_io>] as {#initialize}
      # @return [Poller] or the block's value
      # @see #initialize
      def new(*things, &block)
        AutoClose.with(super, &block)
      end
    end

    # @param things [Array<Socket, IO, #to_io>] registered for reading
    # @raise [Error] see {#register}
    # @raise [TooManySocketsError] when the process has no descriptor left
    def initialize(*things)
      unless closed?
        raise Errors.build(
          StateError, :new, nil, "this poller is open already; #{self.class}.new makes another"
        )
      end
      @last = [].freeze
      _open
      begin
        things.each { |thing| register(thing) }
      rescue
        _close
        raise
      end
    end

    # Adds a socket or IO. The poller keeps it from being collected.
    # @param thing [Socket, IO, #to_io]
    # @param events [Array<Symbol>] :readable, :writable or both; none: :readable. What the type of
    #   a socket never is does not count
    # @return [self]
    # @raise [PollerError] when it is registered already, or another IO over its descriptor is
    # @raise [UnsupportedError] when it never becomes what is asked for: a PUB readable, a PULL
    #   writable, a pipe's other end
    # @raise [ArgumentTypeError] when it is neither socket nor IO
    # @raise [ArgumentValueError] when an event is unknown
    # @raise [ClosedError, ForkedError]
    def register(thing, *events)
      bits = bits(:register, events.empty? ? [:readable] : events)
      io = (Socket === thing) ? nil : io(thing)
      bits &= possible(:register, thing, bits)
      return self if _register(thing, io, bits)
      raise Errors.build(
        PollerError, :register, nil,
        "#{Errors.shown(thing)} is registered already: modify changes its events"
      )
    end

    # Changes what is waited for.
    # @param thing [Socket, IO, #to_io] that is registered
    # @param events [Array<Symbol>] :readable, :writable or both
    # @return [self]
    # @raise [PollerError] when it is not registered
    # @raise [Error] as {#register}
    def modify(thing, *events)
      bits = bits(:modify, events)
      bits &= possible(:modify, thing, bits)
      return self if _modify(thing, bits)
      raise unregistered(:modify, thing, "register it first")
    end

    # Takes a socket or IO out, also one that is closed by now. Remove an IO before you close it:
    # those that wait notice the close of another thread within half a second.
    # @param thing [Socket, IO, #to_io] that is registered
    # @return [self]
    # @raise [PollerError] when it is not registered
    # @raise [ClosedError, ForkedError] of the poller
    def remove(thing)
      return self if _remove(thing)
      raise unregistered(:remove, thing, "it was removed already, or never there")
    end

    # @param thing [Object]
    # @return [Boolean] whether that very object is registered
    def registered?(thing)
      !registered_events(thing).nil?
    end

    # @param thing [Socket, IO, #to_io] that is registered
    # @return [Array<Symbol>] what it is registered for, of :readable and :writable
    # @raise [PollerError] when it is not registered
    def events(thing)
      symbols(registered_events(thing) || raise(unregistered(:events, thing, "register it first")))
    end

    # Yields each socket and IO that is registered, in the order in which they came.
    # @yieldparam thing [Socket, IO, #to_io]
    # @return [self] or, without a block, an Enumerator
    def each(&block)
      return to_enum(:each) { size } unless block
      _members(:each).each_slice(2).map(&:first).each(&block)
      self
    end

    # @return [Integer] how many are registered
    def size
      _members(:size).size / 2
    end

    # @return [Boolean] whether nothing is registered
    def empty?
      size.zero?
    end

    # Waits until something that is registered is ready.
    #
    # It costs what is ready, not what is registered: of a socket that is idle libzmq is not even
    # asked.
    # @param timeout [Integer, Float, nil] seconds; 0 looks and does not wait; nil: for ever
    # @yieldparam event [Event] with a block: each event
    # @return [Array<Event>] in no order; empty when time is up
    # @raise [PollerError] when nothing is registered and it would wait for ever, or when too many
    #   fibers wait
    # @raise [ClosedError] when the poller, or something that is registered, is closed; the message
    #   names it
    # @raise [ContextTerminatedError] when the context of a socket was shut down
    # @raise [ArgumentTypeError, ArgumentValueError] for what is no timeout
    # @raise [ForkedError]
    def wait(timeout = nil, &block)
      @last = events = events_of(_wait(Timeout.milliseconds(timeout)))
      block ? events.each(&block) : events
    end

    # @return [Array<Socket, IO, #to_io>] what the last wait found readable; where several threads
    #   or fibers wait, that of the one that came back last: use the events that {#wait} returns
    #   there
    def readable
      @last.filter_map { |event| event.object if event.readable? }
    end

    # @return [Array<Socket, IO, #to_io>] what the last wait found writable
    # @see #readable
    def writable
      @last.filter_map { |event| event.object if event.writable? }
    end

    # Closes the poller, not what is registered in it. Those that wait get {ClosedError}. A second
    # call does nothing.
    # @return [nil]
    def close
      _close
    end

    # @return [Boolean]
    def closed?
      _closed?
    end

    # @return [String]
    def inspect
      state =
        if forked? then "of another process"
        elsif closed? then "closed"
        else "#{size} registered"
        end
      "#<#{self.class} #{state}>"
    end
    alias_method :to_s, :inspect

    # @private
    # @return [Boolean] whether this process was forked from the one that made the poller
    def forked? = _forked?

    # @private
    # @return [Integer] threads and fibers in {#wait}
    def waiters = _waiters

    # @private
    # @return [Integer] the bits of `bits` that a socket of this type can become ready for
    # @raise [UnsupportedError] when none is left
    def possible(operation, thing, bits)
      return bits unless Socket === thing
      possible = bits
      possible &= ~Event::READABLE if ErrorHints::SEND_ONLY.include?(thing.type)
      possible &= ~Event::WRITABLE if ErrorHints::RECEIVE_ONLY.include?(thing.type)
      return possible unless possible.zero?
      never, fix = (bits == Event::READABLE) ? %i[readable writable] : %i[writable readable]
      raise Errors.build(
        UnsupportedError, operation, thing.endpoints.first,
        "a #{thing.type} is never #{never}: register(it, :#{fix})"
      )
    end

    # dup and clone make no sense.
    # @private
    def initialize_copy(_original)
      raise Errors.build(
        UnsupportedError,
        :dup,
        nil,
        "a poller cannot be copied: share this one, any thread may use it, or make another " \
        "with Poller.new"
      )
    end

    private

    # With no object but the events: this runs for each wait.
    def events_of(ready)
      events = []
      index = 0
      while ready && index < ready.size
        events << Event.new(ready[index], ready[index + 1])
        index += 2
      end
      events
    end

    def bits(operation, events)
      events = events.flatten(1)
      bits =
        events.sum do |event|
          Event::BITS[event] ||
            raise(Errors.bad_value(operation, "events", ":readable, :writable or both", event))
        end
      return bits if events.any? && events.uniq.size == events.size
      raise Errors.bad_value(operation, "events", ":readable, :writable or both", events)
    end

    def symbols(bits)
      Event::BITS.filter_map { |event, bit| event if bits.anybits?(bit) }
    end

    def io(thing)
      IO.try_convert(thing) ||
        raise(Errors.bad_type(:register, "a poller", "sockets, IOs and what has to_io", thing))
    end

    def registered_events(thing)
      _members(:events).each_slice(2) { |object, events| return events if object.equal?(thing) }
      nil
    end

    def unregistered(operation, thing, fix)
      Errors.build(PollerError, operation, nil, "#{Errors.shown(thing)} is not registered: #{fix}")
    end
  end
end
