# frozen_string_literal: true

require "socket"
require_relative "loop/watch"
require_relative "loop/registrations"
require_relative "loop/fair_yield"

module Godwit
  # A reactor: one thread or fiber that waits for sockets, IOs and timers, and runs the callback of
  # each that is ready.
  #
  #   Godwit::Loop.run do |loop|
  #     loop.readable(pull) { |socket| puts socket.recv }
  #     loop.readable($stdin) { |io| loop.stop unless io.gets }
  #     loop.every(1) { puts "a second" }
  #   end
  #
  # **Level-triggered**: a callback is called as long as its socket is ready, so it should receive,
  # or send, what it was called for. In **one turn** each that is ready is called once, then the
  # timers that are due (256 at most), then what was posted; so a peer that floods one socket
  # starves neither the others nor the timers. A callback that receives several messages takes
  # `recv_many`, or `recv_nonblock` a bounded number of times.
  #
  # **Callbacks** run in the thread and fiber that called {#run}. They may register, remove and
  # close anything, also their own socket or IO, and make and cancel timers. A callback that waits
  # holds up all others.
  #
  # **Closed**: a socket or IO that is closed in its own callback is out of the loop. One that is
  # closed elsewhere, or whose context is shut down, is taken out, and the {ClosedError} or
  # {ContextTerminatedError} goes where errors of callbacks go. {#remove} it first, and nothing is
  # said.
  #
  # **Errors**: an exception of a callback comes out of {#run}, and {#run} may be called again. With
  # {#on_error} that is told, and the loop goes on.
  #
  # **Threads and fibers**: any thread may call any method; what one registers holds for the loop
  # that runs. {#run} ends on `Thread#kill`, `Thread#raise`, `Timeout` and signals at once while no
  # callback runs; under a `Fiber.scheduler` other fibers run while it waits. In a `trap` block
  # {#stop} and {#post} work; the rest raises {StateError}, for Ruby allows no lock there.
  #
  # **Fork**: in a child every method of an inherited loop that changes or runs it raises
  # {ForkedError}.
  #
  # @see https://zeromq.org/get-started/?language=c&library=czmq CZMQ's zloop
  class Loop
    include Registrations
    include FairYield

    class << self
      undef_method :allocate # without initialize it is nothing

      # Makes a loop. With a block: yields it, closes it afterwards, and gives the block's value.
      # @yieldparam loop [Loop]
      # @return [Loop] or the block's value
      # @see #initialize
      def new
        made = super
        return made unless block_given?
        begin
          yield made
        ensure
          made.close unless made.__send__(:forked?)
        end
      end

      # Makes a loop, has the block register what it is to do, runs it, and closes it.
      # @param forever [Boolean] as in {#run}
      # @yieldparam loop [Loop]
      # @return [Symbol] as {#run}
      # @raise [Error] as {#run}
      def run(forever: false)
        unless block_given?
          raise Errors.bad_value(
            :run, "the call", "a block that registers what the loop is to do", nil
          )
        end
        new do |made|
          yield made
          made.run(forever: forever)
        end
      end
    end

    # A loop with nothing in it. It has file descriptors of its own: {#close} it.
    # @raise [TooManySocketsError, SystemCallError] when the process has no descriptor left
    def initialize
      if @poller
        raise Errors.build(
          StateError, :new, nil, "this loop is open already; Loop.new makes another"
        )
      end
      @lock = Mutex.new
      @watches = {}.compare_by_identity
      @posted = Thread::Queue.new
      @timers = Timers.new
      @timers.on_change { wake }
      @turn = 0
      @calling = @stopping = @closed = false
      @wakeup, @silent = UNIXSocket.pair
      @poller = Poller.new(@wakeup)
    end

    # Calls the block whenever a message, or bytes, can be received.
    # @param thing [Socket, IO, #to_io] which the loop keeps from being collected
    # @yieldparam thing [Socket, IO, #to_io]
    # @return [self]
    # @raise [PollerError] when it has such a callback already, or another IO over its descriptor is
    #   registered
    # @raise [UnsupportedError] when it never becomes readable, such as a PUSH
    # @raise [ArgumentTypeError, ArgumentValueError] when it is neither socket nor IO, or there is
    #   no block
    # @raise [StateError] in a trap block
    # @raise [ClosedError, ForkedError]
    def readable(thing, &block)
      watch(thing, :readable, block)
    end

    # Calls the block whenever a message, or bytes, can be sent. Most can most of the time:
    # {#remove} it as soon as there is nothing to send.
    # @param thing [Socket, IO, #to_io]
    # @yieldparam thing [Socket, IO, #to_io]
    # @return [self]
    # @raise [Error] as {#readable}
    def writable(thing, &block)
      watch(thing, :writable, block)
    end

    # Takes a socket or IO out, or one of its two callbacks; also in a callback, and also one that
    # is closed by now.
    # @param thing [Socket, IO, #to_io]
    # @param events [Array<Symbol>] :readable, :writable; none: both
    # @return [Boolean] whether there was something to take out
    # @raise [ArgumentValueError] when an event is unknown
    # @raise [StateError] in a trap block
    # @raise [ClosedError, ForkedError] of the loop
    def remove(thing, *events)
      unknown = events - %i[readable writable]
      if unknown.any?
        raise Errors.bad_value(:remove, "events", ":readable, :writable or nothing", unknown.first)
      end
      usable(:remove)
      at_once do
        found = locked(:remove) do
          watch = @watches[thing] or next false
          events = watch.events & (events.empty? ? watch.events : events)
          unwatch(thing, watch, events)
          events.any?
        end
        wake if @watches.empty? # it may have been the last
        found
      end
    end

    # @param thing [Object]
    # @return [Boolean] whether that very socket or IO has a callback
    def registered?(thing)
      @watches.key?(thing)
    end

    # Runs callbacks until {#stop}, or until nothing is left to do: nothing registered, no timer,
    # nothing posted.
    # @param forever [Boolean] also goes on when nothing is left, for other threads may register or
    #   post something
    # @return [Symbol] `:stopped`, or `:empty`
    # @raise [StandardError] of a callback, unless there is {#on_error}
    # @raise [ClosedError, ContextTerminatedError] when something registered is closed elsewhere,
    #   unless there is {#on_error}
    # @raise [StateError] when it runs already
    # @raise [ClosedError, ForkedError]
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

    # Ends {#run} after the callback that runs now. From any thread, callback or `trap` block. When
    # it does not run, the next {#run} returns at once, so that none comes too early.
    # @return [self]
    # @raise [ForkedError]
    def stop
      return self if @closed
      usable(:stop)
      at_once do
        @stopping = true
        wake
      end
      self
    end

    # @return [Boolean] whether {#run} was called and has not returned, in this process
    def running?
      !forked? && claimed?
    end

    # @return [Boolean] whether nothing is registered, no timer is set, and nothing is posted
    def empty?
      @watches.empty? && @timers.empty? && @posted.empty?
    end

    # Closes the loop, not what is registered in it. One that runs ends as by {#stop}. A second call
    # does nothing.
    # @return [nil]
    # @raise [ForkedError]
    def close
      return if @closed
      usable(:close)
      at_once do
        @closed = @stopping = true
        [@poller, @wakeup, @silent].each(&:close)
      end
      nil
    end

    # @return [Boolean]
    def closed?
      @closed
    end

    # @return [String]
    def inspect
      state =
        if forked?
          "of another process"
        elsif closed?
          "closed"
        else
          "#{running? ? "running" : "not running"}, #{@watches.size} registered, #{@timers.size} " \
          "timers"
        end
      "#<#{self.class} #{state}>"
    end
    alias_method :to_s, :inspect

    # dup and clone make no sense.
    # @private
    def initialize_copy(_original)
      raise Errors.build(
        UnsupportedError, :dup, nil, "a loop cannot be copied: make another with Loop.new"
      )
    end

    private

    # Threads and fibers that wait for its next event: one at most.
    def _waiters = @poller.__send__(:_waiters)

    def forked?
      @poller.__send__(:_forked?)
    end

    def usable(operation)
      if forked?
        raise Errors.build(
          ForkedError, operation, nil, "this loop is the parent process's: make another here"
        )
      end
      if @closed
        raise Errors.build(
          ClosedError, operation, nil, "this loop is closed: Loop.new makes another"
        )
      end
    end

    # No interrupt comes between a change and the wake-up that tells of it.
    def at_once(&change) = Thread.handle_interrupt(Object => :never, &change)

    def locked(operation, &block)
      @lock.synchronize(&block)
    rescue ThreadError => error
      raise unless error.message.include?("trap context")
      raise Errors.build(
        StateError, operation, nil,
        "Ruby allows no lock in a trap block: give this to Loop#post there"
      )
    end
  end
end
require_relative "loop/callbacks"
