# frozen_string_literal: true

module ZMQ
  # A callback that a Loop calls once or several times.
  class Timer
    # @return [Integer, Float] seconds before each call
    attr_reader :delay
    # @return [Integer] number of calls; 0: without end
    attr_reader :times

    # @param callback [#call, nil] nil: the block is the callback
    def initialize(delay, times, callback = nil, &block)
      @callback = callback || block or raise ArgumentError, "no callback given!"
      @delay = Arguments.type(delay, Integer, Float)
      @times = Arguments.type(times, Integer)
      @cancelled = false
    end

    def fire(*args)
      raise Error, "cannot fire timer, already cancelled!" if @cancelled
      @callback.call(*args)
    end
    alias_method :call, :fire

    def cancel
      @cancelled = true
      nil
    end

    # The loop calls this method with the exception that the callback raised.
    def on_error(exception)
      raise exception
    end

    def cancelled? = @cancelled
  end

  # Waits for sockets, IOs and timers, and calls handlers. Godwit::Loop does the work.
  class Loop
    CALLBACKS = {readable: :on_readable, writable: :on_writable}.freeze
    BITS = {readable: POLLIN, writable: POLLOUT}.freeze
    INTERRUPTED = 0
    STOPPED = -1
    private_constant :CALLBACKS, :BITS, :INTERRUPTED, :STOPPED

    @runners = []
    @lock = Mutex.new

    class << self
      # Makes a loop, calls the block, which registers sockets, IOs and timers, and starts the loop.
      def run(callable = nil, &block)
        @instance = new
        (callable || block).call
        @instance.start
      end

      def bind(socket, address, handler = DefaultHandler, *args)
        attach(socket, :bind, address, handler, args)
      end

      def connect(socket, address, handler = DefaultHandler, *args)
        attach(socket, :connect, address, handler, args)
      end

      def register_readable(pollable, handler = DefaultHandler, *args)
        register_for(POLLIN, pollable, handler, args)
      end

      def register_writable(pollable, handler = DefaultHandler, *args)
        register_for(POLLOUT, pollable, handler, args)
      end

      def add_oneshot_timer(delay, callback = nil, &block) = add_timer(delay, 1, callback, &block)
      def add_periodic_timer(delay, callback = nil, &block) = add_timer(delay, 0, callback, &block)

      def add_timer(delay, times, callback = nil, &block)
        timer = Timer.new(delay, times, callback, &block)
        instance.register_timer(timer)
        timer
      end

      def context = ZMQ.context

      # @private -- and so are the methods below
      # Keeps the list of running loops for {ZMQ.interrupted!}.
      def runs(loop)
        @lock.synchronize { @runners += [loop] }
        yield
      ensure
        @lock.synchronize { @runners -= [loop] }
      end

      def interrupt_all = @runners.each(&:interrupt)

      %i[stop running? verbose= register remove register_timer cancel_timer].each do |name|
        define_method(name) { |*arguments| instance.public_send(name, *arguments) }
      end

      private

      def instance
        @instance or raise Error, "no loop was run yet: this is for the block of ZMQ::Loop.run"
      end

      # `bind` and `connect` give a handler the arguments as one Array; scripts rely on that.
      def attach(socket, action, address, handler, args)
        result = socket.public_send(action, address)
        register_readable(socket, handler, args) if socket.poll_readable?
        register_writable(socket, handler, args) if socket.poll_writable?
        result
      end

      def register_for(events, pollable, handler, args)
        item = Pollitem.new(pollable, events)
        item.handler = handler.new(item, *args) if handler
        instance.register(item)
      end
    end

    def initialize
      @godwit = Godwit::Loop.new
      @items = {}.compare_by_identity # pollable => its Pollitems
      @timers = {}.compare_by_identity # ZMQ::Timer => Godwit's timer
      @silent = {}.compare_by_identity # cancelled timers whose Godwit timer may still run
      @late = [] # changes that a trap block has made; @godwit does not have them yet
      @running = @interrupted = @ending = @verbose = @destroyed = false
    end

    # Runs until {#stop}, until a callback returns false or raises, a signal or the context's end.
    # @return [Integer] -1 when stopped, 0 when interrupted or the context has ended
    def start
      alive!
      return INTERRUPTED if ZMQ.interrupted?
      raise Error, "Ruby lets no loop run in a trap block" if Interrupts.trap?
      raise Error, "event loop running already!" if @running
      run
    end

    def stop
      alive!
      raise Error, "event loop not running!" unless @running
      finish
      nil
    end

    def running?
      alive!
      @running
    end

    # @param flag [Boolean] whether items that are registered from now on print what they do
    def verbose=(flag)
      alive!
      @verbose = (flag == true)
    end

    def register(thing)
      alive!
      item = Pollitem.coerce(thing)
      item.verbose = true if @verbose
      known = @items[item.pollable] ||= []
      before = wanted(known)
      @items[item.pollable] = known + [item]
      watch(item.pollable, item.possible & ~before)
      @godwit.post { serve_rest(item) } if item.rest?
      item
    end

    def remove(thing)
      alive!
      pollable = thing.is_a?(Pollitem) ? thing.pollable : thing
      items = @items[pollable] or return
      others = thing.is_a?(Pollitem) ? items.reject { |item| item.equal?(thing) } : []
      unwatch(pollable, wanted(items) & ~wanted(others))
      others.empty? ? @items.delete(pollable) : @items[pollable] = others
      nil
    end

    def register_timer(timer)
      alive!
      Arguments.type(timer, Timer)
      times = timer.times.zero? ? nil : timer.times
      apply do
        @timers[timer]&.cancel
        @timers[timer] = @godwit.every([timer.delay, 0].max, times: times) do |godwit_timer|
          fire(timer, godwit_timer)
        end
      end
      true
    end

    def cancel_timer(timer)
      alive!
      Arguments.type(timer, Timer)
      @silent[timer] = true
      apply do
        @timers.delete(timer)&.cancel
        @silent.delete(timer)
      end
      true
    end

    def destroy
      alive!
      @destroyed = true
      @godwit.close
      nil
    end

    # Makes {#start} return 0. Works in a trap block too.
    def interrupt
      @interrupted = true
      finish
    end

    private

    def run
      @running = true
      @interrupted = @ending = false
      Loop.runs(self) { Interrupts.during(-> { interrupt }) { @godwit.run(forever: true) } }
      @interrupted ? INTERRUPTED : STOPPED
    rescue Godwit::ClosedError, Godwit::ContextTerminatedError
      INTERRUPTED
    rescue Godwit::Error => error
      Failures.fail_with(error)
    ensure
      @running = false
    end

    def finish
      @ending = true
      @godwit.stop
    end

    def alive!
      raise Failures.destroyed(Loop, self) if @destroyed
    end

    def wanted(items) = items.map(&:possible).reduce(0, :|)

    # Godwit's loop has one callback for an event of a pollable, which calls all its handlers.
    def watch(pollable, bits)
      thing = Pollitem.godwit(pollable)
      apply do
        @godwit.readable(thing) { serve(pollable, :readable) } if bits.anybits?(POLLIN)
        @godwit.writable(thing) { serve(pollable, :writable) } if bits.anybits?(POLLOUT)
      end
    end

    def unwatch(pollable, bits)
      thing = Pollitem.godwit(pollable)
      apply { @godwit.remove(thing, *Pollitem.symbols(bits)) } unless bits.zero?
    end

    # Makes a change to Godwit's loop, which takes locks. A trap block can take no lock, so its
    # change is stored until the loop's next turn or the next change.
    def apply(&change)
      Failures.translated do
        if Interrupts.trap?
          @late << change
          @godwit.post { apply_late }
        else
          apply_late
          change.call
        end
      end
    end

    def apply_late
      while (change = @late.shift)
        change.call
      end
    end

    def serve(pollable, event)
      items = @items[pollable] or return
      items.each do |item|
        next unless !@ending && item.possible.anybits?(BITS[event]) && registered?(item)
        invoke(item, event)
        serve_rest(item) if event == :readable
      end
    end

    # Handles a message's stored frames: libzmq does not report the socket as readable for them.
    def serve_rest(item)
      invoke(item, :readable) while !@ending && item.rest? && registered?(item)
    end

    def registered?(item) = !!@items[item.pollable]&.any? { |one| one.equal?(item) }

    def invoke(item, event)
      handler = item.handler
      unless handler
        raise Error, "a #{item.pollable.class} is ready, but its pollitem has no handler: give " \
          "it one with handler="
      end
      calling(handler) { handler.public_send(CALLBACKS.fetch(event)) }
    end

    def fire(timer, godwit_timer)
      if timer.cancelled?
        godwit_timer.cancel
      elsif !@silent.key?(timer)
        calling(timer) { timer.call }
      end
      @timers.delete(timer) unless godwit_timer.pending?
      @items.values.flatten.each { |item| serve_rest(item) if item.rest? }
    end

    # @param object [#on_error] its on_error is called when the block raises
    def calling(object)
      finish if yield == false
    rescue => error
      finish if object.on_error(error) == false
    end
  end
end

ZL = ZMQ::Loop
