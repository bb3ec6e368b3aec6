# frozen_string_literal: true

require_relative "loop/watches"

module Godwit
  # A reactor: one thread or fiber waits for sockets, IOs and timers, and calls the callback of each
  # that is ready.
  #
  #   Godwit::Loop.run do |loop|
  #     loop.readable(pull) { |socket| puts socket.recv }
  #     loop.readable($stdin) { |io| loop.stop unless io.gets }
  #     loop.every(1) { puts "a second" }
  #   end
  #
  # **Level-triggered**: a callback is called as long as its socket is ready, so it should receive
  # or send. **One turn** calls each ready callback once, then the timers that are due (256 at
  # most), then the posted blocks; so a flooded socket starves neither other sockets nor timers. A
  # callback that receives several messages calls `recv_many`, or `recv_nonblock` a limited number
  # of times.
  #
  # **Callbacks** run in the thread and fiber that called {#run}. They may register, remove and
  # close anything, also their own socket or IO, and make and cancel timers. A callback that waits
  # delays all others.
  #
  # **Closed**: the loop removes a socket or IO that is closed in its own callback. If it is closed
  # elsewhere, or its context is shut down, the loop also removes it, and reports the {ClosedError}
  # or {ContextTerminatedError} like an error of a callback. {#remove} it first to avoid the error.
  #
  # **Errors**: {#run} raises the exception of a callback, and may be called again. With {#on_error}
  # a block gets the exception, and the loop goes on.
  #
  # **Threads and fibers**: any thread may call any method, also while the loop runs. `Thread#kill`,
  # `Thread#raise`, `Timeout` and signals end {#run} at once if no callback runs. Under a
  # `Fiber.scheduler` other fibers run while the loop waits. In a `trap` block {#stop} and {#post}
  # work; the other methods raise {StateError}, since Ruby allows no lock there.
  #
  # **Fork**: in a child, every method of an inherited loop that changes or runs the loop raises
  # {ForkedError}; after {#close} these methods raise {ClosedError}.
  # @see https://zeromq.org/get-started/?language=c&library=czmq CZMQ's zloop
  class Loop
    # The most timers that one turn fires, so that sockets are served in between.
    TIMERS_PER_TURN = 256
    NOTHING = [].freeze
    private_constant :TIMERS_PER_TURN, :NOTHING

    class << self
      undef_method :allocate # a Loop works only after initialize

      # Makes a loop. With a block: yields it, closes it afterwards, and returns the block's value.
      # @yieldparam loop [Loop]
      # @return [Loop] or the block's value
      # @see #initialize
      def new(&block) = AutoClose.with(super(), &block)

      # Makes a loop, yields it to the block, which registers callbacks, runs the loop, and closes
      # it.
      # @param forever [Boolean] as in {#run}
      # @yieldparam loop [Loop]
      # @return [Symbol] as {#run}
      # @raise [Error] as {#run}
      def run(forever: false)
        unless block_given?
          what = "a block that registers what the loop is to do"
          raise Errors.bad_value(:run, "the call", what, nil)
        end
        new do |made|
          yield made
          made.run(forever: forever)
        end
      end
    end

    # Makes an empty loop. It has file descriptors: {#close} it.
    # @raise [TooManySocketsError, SystemCallError] when the process has no descriptor left
    def initialize
      refuse(StateError, :new, "this loop is open already; Loop.new makes another") if @watches
      @lock = Mutex.new # guards @runner and @token, which tell who runs the loop
      @posted = Thread::Queue.new
      @timers = Timers.new
      @timers.on_change { wake }
      @turn = 0
      @calling = @stopping = @closed = false
      @watches = Watches.new
    end

    # Calls the block whenever a message, or bytes, can be received.
    # @param thing [Socket, IO, #to_io] the loop prevents its garbage collection
    # @yieldparam thing [Socket, IO, #to_io]
    # @return [self]
    # @raise [PollerError] when the thing has such a callback already, or another IO over its
    #   descriptor is registered
    # @raise [UnsupportedError] when a socket of its type never becomes readable, such as a PUSH
    # @raise [ArgumentTypeError, ArgumentValueError] when the thing is neither socket nor IO, or
    #   there is no block
    def readable(thing, &block) = watch(thing, :readable, block)

    # Calls the block whenever a message, or bytes, can be sent. Most of the time that is possible:
    # {#remove} the callback as soon as there is nothing to send.
    # @param thing [Socket, IO, #to_io]
    # @yieldparam thing [Socket, IO, #to_io]
    # @return [self]
    # @raise [Error] as {#readable}
    def writable(thing, &block) = watch(thing, :writable, block)

    # Removes a socket or IO, or one of its two callbacks. A callback may call this method, also for
    # a socket or IO that is closed.
    # @param thing [Socket, IO, #to_io]
    # @param events [Array<Symbol>] :readable, :writable; none: both
    # @return [Boolean] whether a callback was removed
    # @raise [ArgumentValueError] when an event is unknown
    # @raise [ClosedError, ForkedError] when the loop is closed, or a parent process's
    def remove(thing, *events)
      unknown = events - %i[readable writable]
      if unknown.any?
        raise Errors.bad_value(:remove, "events", ":readable, :writable or nothing", unknown.first)
      end
      usable(:remove)
      without_interrupts do
        found = @watches.remove(thing, events)
        wake if @watches.empty? # without a callback, {#run} may return
        found
      end
    end

    # @param thing [Object]
    # @return [Boolean] whether this object itself has a callback
    def registered?(thing) = @watches.key?(thing)

    # Calls the block once, after a time.
    # @param seconds [Integer, Float] from now; 0: in the next turn
    # @yieldparam timer [Timers::Timer] which can be cancelled and reset
    # @return [Timers::Timer]
    # @raise [ArgumentTypeError, ArgumentValueError] when the time is no duration, or there is no
    #   block
    def after(seconds, &block)
      usable(:after)
      @timers.after(seconds, &block)
    end

    # Calls the block at start + interval, start + 2 * interval…, without drift; calls missed in a
    # stall are skipped (see {Timers}).
    # @param seconds [Integer, Float] the interval; 0: in each turn
    # @param times [Integer, nil] how many times, at least 1; nil: until the timer is cancelled
    # @yieldparam timer [Timers::Timer] which can be cancelled, reset, and given another interval
    # @return [Timers::Timer]
    # @raise [Error] as {#after}
    def every(seconds, times: nil, &block)
      usable(:every)
      @timers.every(seconds, times: times, &block)
    end

    # Runs the block in the loop's next turn, in the loop's thread. Any thread or `trap` block may
    # call this method.
    # @yieldparam loop [Loop]
    # @return [self]
    # @raise [ArgumentValueError] without a block
    def post(&block)
      raise Errors.bad_value(:post, "the call", "a block to run", nil) unless block
      usable(:post)
      without_interrupts do
        @posted.push(block)
        wake
      end
      self
    end

    # With a block, {#run} goes on after a StandardError of a callback, a timer or a posted block,
    # or of a socket closed elsewhere, and calls this block. {#run} raises what this block raises. A
    # later call replaces the block; without a block, {#run} raises the errors.
    # @yieldparam error [StandardError]
    # @yieldparam source [Socket, IO, #to_io, Timers::Timer, Loop] whose callback raised; the loop
    #   for a posted block
    # @return [self]
    def on_error(&block)
      @on_error = block
      self
    end

    # Runs callbacks until {#stop}, or until the loop has neither a callback, a timer nor a posted
    # block.
    # @param forever [Boolean] whether an empty loop waits on, for what other threads may add
    # @return [Symbol] `:stopped`, or `:empty`
    # @raise [StandardError] of a callback, unless there is {#on_error}
    # @raise [ClosedError, ContextTerminatedError] when something registered is closed elsewhere,
    #   unless there is {#on_error}
    # @raise [StateError] when the loop runs already
    def run(forever: false)
      usable(:run)
      token = Object.new
      begin
        claim(token)
        turns(forever)
      ensure
        release(token)
      end
    end

    # Ends {#run} after the callback that runs now. Any thread, callback or `trap` block may call
    # this method. If the loop does not run, the next {#run} returns at once.
    # @return [self]
    def stop
      return self if @closed
      usable(:stop)
      without_interrupts do
        @stopping = true
        wake
      end
      self
    end

    # @return [Boolean] whether {#run} was called and has not returned, in this process
    def running? = !forked? && claimed?
    # @return [Boolean] whether nothing is registered, no timer is set, and nothing is posted
    def empty? = @watches.empty? && @timers.empty? && @posted.empty?

    # Closes the loop, but not the sockets and IOs that are registered in it. A running loop ends as
    # by {#stop}. A second call does nothing.
    # @return [nil]
    def close
      return if @closed
      usable(:close)
      without_interrupts do
        @closed = @stopping = true
        @watches.close
      end
      nil
    end

    # @return [Boolean]
    def closed? = @closed

    # @return [String]
    def inspect
      state =
        if forked? then "of another process"
        elsif closed? then "closed"
        else
          "#{running? ? "running" : "not running"}, #{@watches.size} registered, #{@timers.size} " \
          "timers"
        end
      "#<#{self.class} #{state}>"
    end
    alias_method :to_s, :inspect

    # @private
    def initialize_copy(_) = raise(Errors.no_copy("loop", "make another with Loop.new"))

    # @private
    def forked? = @watches.forked?

    private

    # The number of threads and fibers that wait for the loop's next event; for tests.
    def _waiters = @watches.waiters

    def usable(operation)
      if forked?
        refuse(ForkedError, operation, "this loop is the parent process's: make another here")
      end
      refuse(ClosedError, operation, "this loop is closed: Loop.new makes another") if @closed
    end

    def refuse(klass, operation, detail)
      raise Errors.build(klass, operation, nil, detail)
    end

    # No interrupt comes between a change and the wake-up of the running loop.
    def without_interrupts(&change) = Thread.handle_interrupt(Object => :never, &change)

    def watch(thing, event, block)
      raise Errors.bad_value(event, "the call", "a block to run", nil) unless block
      usable(event)
      @watches.add(thing, event, block, @turn)
      self
    end

    # One thread or fiber runs the loop at a time.
    def claim(token)
      Timers.locked(@lock, :run) do
        if claimed?
          refuse(StateError, :run, "this loop runs already: stop it first, or make another")
        end
        @runner = Thread.current
        @calling = false
        @token = token
      end
    end

    # A killed thread runs no `ensure` of its waiting fibers, so their claim ends with the thread.
    def claimed? = !@token.nil? && @runner.alive?

    # Ends the claim of the run that has this token, and the effect of {Loop#stop}.
    def release(token)
      without_interrupts do
        next unless @token.equal?(token)
        @calling = false
        @stopping = false
        @token = nil
      end
    end

    def turns(forever)
      until @stopping
        return :empty unless forever || !empty?
        events = ready
        @calling = true
        @turn += 1
        events.each { |event| dispatch(event) unless @stopping }
        fire_timers
        run_posted unless @stopping
        @calling = false
      end
      :stopped
    end

    # Waits for events. Another thread's change ends the wait early; callbacks run before it.
    def ready
      @watches.wait((@posted.empty? && !@stopping) ? @timers.next_in : 0)
    rescue ClosedError, ContextTerminatedError => error
      sweep(error) unless @closed
      NOTHING
    end

    # Removes a socket or IO that is closed, or whose context is shut down, and reports the error.
    # If there are several, each turn removes one.
    def sweep(error)
      object = @watches.drop_ended(error) or raise error
      what = "has lost its context"
      fix = "close it"
      if error.is_a?(ClosedError)
        what = "was closed"
        fix = "remove it before that, or close it in its own callback"
      end
      words = "#{Errors.shown(object)} #{what} while it was registered in a loop, which has " \
        "taken it out: #{fix}"
      report(Errors.build(error.class, :run, nil, words), object)
    end

    def dispatch(event)
      object = event.object
      return @watches.silence if @watches.wakeup?(object)
      call_for(object, :readable) if event.readable?
      call_for(object, :writable) if event.writable? && !@stopping
    end

    # An earlier callback of this turn may have removed or closed the object. The next wait reports
    # an object that was closed.
    def call_for(object, event)
      watch = @watches[object] or return @watches.disown(object)
      callback = watch.callback(event, @turn)
      return if callback.nil? || watch.closed?
      begin
        call(callback, object)
      ensure
        @watches.drop(object, watch) if watch.closed?
      end
    end

    def call(callback, argument)
      callback.call(argument)
    rescue => error
      report(error, argument)
    end

    def report(error, source)
      raise error unless @on_error
      @on_error.call(error, source)
    end

    def fire_timers
      return if @timers.empty?
      moment = @timers.now
      TIMERS_PER_TURN.times do
        break if @stopping
        timer = @timers.next_due(moment) or break
        call(timer.callback, timer)
      end
    end

    # Runs the posted blocks. A block that is posted meanwhile runs in the next turn.
    def run_posted
      @posted.size.times do
        call(@posted.pop(true), self)
        break if @stopping
      end
    end

    def wake
      @watches.wake unless @calling && Thread.current.equal?(@runner)
    end
  end
end
