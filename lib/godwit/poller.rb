# frozen_string_literal: true

module Godwit
  # Waits for several sockets and IOs at once.
  #
  #   poller = Godwit::Poller.new(pull, $stdin)          # for reading
  #   poller.register(push, :writable)
  #   poller.wait(1.5).each { |event| p event.object, event.readable?, event.writable? }
  #
  # **Level-triggered**: each wait reports all that is ready. Another thread may receive the
  # message first; where several threads receive, call `recv_nonblock`.
  #
  # **Threads and fibers**: any number may use one poller and its sockets at once, also to wait.
  # Each waiter gets every event. A change of the registered objects affects running waits. Linux
  # lets about 100 fibers wait on one poller. A wait ends like that of a {Socket}. After {#close},
  # and while a closed socket is registered, it raises {ClosedError}.
  #
  # **Fork**: in a child every method of an inherited poller raises {ForkedError}.
  # @see http://api.zeromq.org/4-3:zmq-poll zmq_poll(3)
  class Poller
    include AutoClose
    include Enumerable

    # The state of one socket or IO at the end of a wait.
    class Event
      # @private
      READABLE = 1
      # @private
      WRITABLE = 2
      # @private
      ERROR = 4
      # @private
      BITS = {readable: READABLE, writable: WRITABLE}.freeze

      # @private
      def initialize(object, bits)
        @object = object
        @bits = bits
        freeze
      end

      # @return [Socket, IO, #to_io] the registered object
      attr_reader :object
      # @return [Boolean] a message can be received; an IO has data, a new connection or end of file
      def readable? = @bits.anybits?(READABLE)
      # @return [Boolean] a message can be sent, or bytes can be written to the IO
      def writable? = @bits.anybits?(WRITABLE)
      # @return [Boolean] the IO is broken, such as a pipe whose reader is gone; false for a socket
      def error? = @bits.anybits?(ERROR)

      # @return [Array<Symbol>] those of :readable, :writable and :error that are true
      def events
        [(:readable if readable?), (:writable if writable?), (:error if error?)].compact
      end

      # @return [String]
      def inspect = "#<#{self.class} #{object.inspect} #{events.join(" ")}>"
    end

    class << self
      # Makes a poller. With a block: yields it, closes it afterwards, and gives the block's value.
      # @param things [Array<Socket, IO, #to_io>] as {#initialize}
      # @return [Poller] or the block's value
      # @see #initialize
      def new(*things, &block) = AutoClose.with(super, &block)
    end

    # @param things [Array<Socket, IO, #to_io>] registered for reading
    # @raise [Error] see {#register}
    # @raise [TooManySocketsError] when the process has no descriptor left
    def initialize(*things)
      raise Errors.open_already(:new, "poller", "#{self.class}.new") unless closed?
      @last = [].freeze
      @readers_ahead = nil
      _open
      begin
        things.each { |thing| register(thing) }
      rescue => error
        _close
        raise error
      end
    end

    # Adds a socket or IO. While it is registered, the garbage collector does not collect it.
    # @param thing [Socket, IO, #to_io]
    # @param events [Array<Symbol>] :readable, :writable or both; none: :readable. With both, an
    #   event that the socket's type never has is ignored
    # @return [self]
    # @raise [PollerError] when `thing`, or another IO over its descriptor, is registered already
    # @raise [UnsupportedError] when `thing` never becomes ready: a PUB readable, a PULL writable,
    #   the wrong end of a pipe
    # @raise [ArgumentTypeError] when `thing` is neither socket nor IO
    # @raise [ArgumentValueError] when an event is unknown
    # @raise [ClosedError, ForkedError]
    def register(thing, *events)
      bits = bits(:register, events.empty? ? [:readable] : events)
      io = (Socket === thing) ? nil : io(thing)
      bits &= possible(:register, thing, bits)
      return note_ahead(thing, bits) if _register(thing, io, bits)
      raise Errors.build(PollerError, :register, nil,
        "#{Errors.shown(thing)} is registered already: modify changes its events")
    end

    # Changes the events of a registered socket or IO.
    # @param thing [Socket, IO, #to_io] that is registered
    # @param events [Array<Symbol>] :readable, :writable or both
    # @return [self]
    # @raise [PollerError] when it is not registered
    # @raise [Error] as {#register}
    def modify(thing, *events)
      bits = bits(:modify, events)
      bits &= possible(:modify, thing, bits)
      return note_ahead(thing, bits) if _modify(thing, bits)
      raise unregistered(:modify, thing, "register it first")
    end

    # Removes a socket or IO, also a closed one. Remove an IO before you close it: a thread that
    # waits may notice the close half a second late.
    # @param thing [Socket, IO, #to_io] that is registered
    # @return [self]
    # @raise [PollerError] when it is not registered
    # @raise [ClosedError, ForkedError] when the poller is closed, or inherited by a fork
    def remove(thing)
      return note_ahead(thing, 0) if _remove(thing)
      raise unregistered(:remove, thing, "it was removed already, or never there")
    end

    # @param thing [Object]
    # @return [Boolean] whether that very object is registered
    def registered?(thing) = !registered_events(thing).nil?

    # @param thing [Socket, IO, #to_io] that is registered
    # @return [Array<Symbol>] its events, of :readable and :writable
    # @raise [PollerError] when it is not registered
    def events(thing)
      bits = registered_events(thing) or raise unregistered(:events, thing, "register it first")
      Event::BITS.filter_map { |event, bit| event if bits.anybits?(bit) }
    end

    # Yields each registered socket and IO, in the order of registration.
    # @yieldparam thing [Socket, IO, #to_io]
    # @return [self] or, without a block, an Enumerator
    def each(&block)
      return to_enum(:each) { size } unless block
      _members(:each).each_slice(2).map(&:first).each(&block)
      self
    end

    # @return [Integer] how many are registered
    def size = _members(:size).size / 2
    # @return [Boolean] whether nothing is registered
    def empty? = size.zero?

    # Waits until a registered socket or IO is ready. Idle sockets cost nothing. Bytes that an IO or
    # an OpenSSL::SSL::SSLSocket has read ahead make it readable. Bytes in the buffer of another
    # object that reads the IO do not: read that object until its buffer is empty.
    # @param timeout [Integer, Float, nil] seconds; 0: does not wait; nil: for ever
    # @yieldparam event [Event] with a block: each event
    # @return [Array<Event>] in no order; empty when time is up
    # @raise [PollerError] when nothing is registered and there is no timeout, or when too many
    #   fibers wait
    # @raise [ClosedError] when the poller, or a registered socket or IO, is closed; the message
    #   names it
    # @raise [ContextTerminatedError] when the context of a socket was shut down
    # @raise [ArgumentTypeError, ArgumentValueError] for a wrong timeout
    def wait(timeout = nil, &block)
      milliseconds = Timeout.milliseconds(timeout)
      ready = @readers_ahead ? wait_ahead(milliseconds) : _wait(milliseconds)
      @last = events = events_of(ready)
      block ? events.each(&block) : events
    end

    # @return [Array<Socket, IO, #to_io>] those that the last wait found readable; where several
    #   threads or fibers wait, use the events that {#wait} returns
    def readable
      @last.filter_map { |event| event.object if event.readable? }
    end

    # @return [Array<Socket, IO, #to_io>] those that the last wait found writable
    # @see #readable
    def writable
      @last.filter_map { |event| event.object if event.writable? }
    end

    # Closes the poller, not its sockets and IOs. Waiters get {ClosedError}. A second call does
    # nothing.
    # @return [nil]
    def close = _close
    # @return [Boolean]
    def closed? = _closed?

    # @return [String]
    def inspect
      return "#<#{self.class} of another process>" if forked?
      "#<#{self.class} #{closed? ? "closed" : "#{size} registered"}>"
    end
    alias_method :to_s, :inspect

    # @private
    # @return [Integer] those of `bits` for which a socket of this type can become ready
    def possible(operation, thing, bits)
      return bits unless Socket === thing
      possible = bits
      possible &= ~Event::READABLE if ErrorHints::SEND_ONLY.include?(thing.type)
      possible &= ~Event::WRITABLE if ErrorHints::RECEIVE_ONLY.include?(thing.type)
      return possible unless possible.zero?
      never, fix = (bits == Event::READABLE) ? %i[readable writable] : %i[writable readable]
      raise Errors.build(UnsupportedError, operation, thing.endpoints.first,
        "a #{thing.type} is never #{never}: register(it, :#{fix})")
    end

    # @private
    def initialize_copy(_original)
      fix = "share this one, any thread may use it, or make another with Poller.new"
      raise Errors.no_copy("poller", fix)
    end

    private

    # Lists the objects with a method `pending`: they buffer bytes which they already read from the
    # descriptor. Makes a new Array, since another thread may read the old one.
    def note_ahead(thing, bits)
      ahead = bits.anybits?(Event::READABLE) && thing.respond_to?(:pending)
      return self unless ahead || @readers_ahead
      others = (@readers_ahead || []).reject { |one| one.equal?(thing) }
      others << thing if ahead
      @readers_ahead = others.empty? ? nil : others.freeze
      self
    end

    # @return [Array, nil] as _wait: objects and their bits in turn
    def wait_ahead(milliseconds)
      ahead = @readers_ahead&.select { |thing| ahead?(thing) }
      return _wait(milliseconds) if ahead.nil? || ahead.empty?
      ready = (_wait(0) || []).each_slice(2).to_h.compare_by_identity
      ahead.each { |thing| ready[thing] = ready.fetch(thing, 0) | Event::READABLE }
      ready.to_a.flatten(1)
    end

    # OpenSSL buffers decrypted bytes (`pending`); its Ruby code buffers bytes for `gets`
    # (@rbuffer). On JRuby `pending` only warns and returns nil.
    def ahead?(thing)
      return false if thing.respond_to?(:closed?) && thing.closed?
      return true if RUBY_ENGINE != "jruby" && thing.pending > 0
      !thing.instance_variable_get(:@rbuffer).to_s.empty?
    end

    # Makes the events. The method allocates nothing else, since each wait calls it.
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
      wrong = events.reject { |event| Event::BITS.key?(event) }
      if wrong.empty? && events.any? && events.uniq.size == events.size
        return events.map { |event| Event::BITS[event] }.reduce(:|)
      end
      wrong = wrong.empty? ? events : wrong.first
      raise Errors.bad_value(operation, "events", ":readable, :writable or both", wrong)
    end

    def io(thing)
      Runtime.io(thing) ||
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
