# frozen_string_literal: true

require_relative "timers/heap"
require_relative "timers/timer"

module Godwit
  # Timers without sockets: {#fire} and {#wait} call the callbacks whose time has come. A timer
  # fires once, several times, or without end. {Loop} has timers as well as sockets and IOs.
  #
  #   timers = Godwit::Timers.new
  #   timers.after(0.5) { puts "once" }
  #   timers.every(1, times: 3) { |timer| puts timer.fired }
  #   timers.wait until timers.empty?
  #
  # **No drift**: on the monotonic clock, the n-th firing of a periodic timer is due at start + n *
  # interval, however late the ones before it were. **After a stall** a timer fires once; missed
  # firings are skipped, and do not count as one of its `times`. A timer never fires early.
  #
  # **Order**: by deadline; timers with one deadline fire in the order in which they were made.
  #
  # **Callbacks** may make, cancel and reset timers, also their own. {#fire} raises the exception of
  # a callback; that timer has its next deadline already, and the next call fires the others.
  #
  # **Cost**: making, firing and cancelling one of n timers is O(log n).
  #
  # **Threads and fibers**: any thread may call any method. A callback runs in a thread that calls
  # {#fire} or {#wait}; one thread runs each firing. A new timer of another thread shortens {#wait}.
  # A `trap` block cannot make or change timers ({StateError}), since Ruby allows no lock there;
  # {Loop#post} works. **Fork**: a child has its own copy.
  class Timers
    extend Keywords

    singleton_class.undef_method(:allocate) # a Timers works only after `initialize`

    # Longest wait in seconds: ConditionVariable#wait refuses very large numbers.
    LONGEST = 1e6
    # Shortest interval except 0, in seconds: the clock's resolution.
    SHORTEST = 1e-9
    private_constant :LONGEST, :SHORTEST

    # @private
    def self.seconds(operation, value)
      unless value.is_a?(Numeric) && value.real?
        raise Errors.bad_type(operation, "the interval", "a number of seconds", value)
      end
      return value if value.zero? || (value.to_f.finite? && value >= SHORTEST)
      allowed = "at least 0 seconds, and none between 0 and a nanosecond"
      raise Errors.bad_value(operation, "the interval", allowed, value)
    end

    # @private
    def self.locked(lock, operation, &block)
      lock.synchronize(&block)
    rescue ThreadError => error
      raise unless error.message.include?("trap context")
      raise Errors.build(StateError, operation, nil,
        "Ruby allows no lock in a trap block: give this to Godwit::Loop#post, or to a Thread")
    end

    # @param clock [#call, nil] returns seconds that never decrease, for tests and simulations with
    #   {#fire}; nil: the monotonic clock
    def initialize(clock: nil)
      @clock = clock
      @heap = Heap.new
      @lock = Mutex.new
      @changed = ConditionVariable.new
      @serial = 0
      @horizon = -Float::INFINITY
    end

    # Makes a timer that fires once.
    # @param seconds [Integer, Float] from now; 0: at the next {#fire} or {#wait}
    # @yieldparam timer [Timer]
    # @return [Timer]
    # @raise [ArgumentTypeError, ArgumentValueError] when the time is no duration, or there is no
    #   block
    def after(seconds, &block) = add(:after, seconds, 1, block)

    # Makes a timer that fires at start + interval, start + 2 * interval…
    # @param seconds [Integer, Float] the interval; 0: at each {#fire} or {#wait}
    # @param times [Integer, nil] number of firings, at least 1; nil: it fires until it is cancelled
    # @yieldparam timer [Timer]
    # @return [Timer]
    # @raise [ArgumentTypeError, ArgumentValueError] when the interval is no duration, `times` is
    #   wrong, or there is no block
    def every(seconds, times: nil, &block)
      unless times.nil? || times.is_a?(Integer)
        raise Errors.bad_type(:every, "times:", "an Integer, or nil for ever", times)
      end
      unless times.nil? || times.positive?
        raise Errors.bad_value(:every, "times:", "at least 1, or nil for ever", times)
      end
      add(:every, seconds, times, block)
    end

    # Calls the callback of each timer whose time has come, once. A timer whose time comes meanwhile
    # waits for the next call.
    # @return [Integer] callbacks that ran
    # @raise [Exception] of a callback
    def fire
      moment = now
      count = 0
      while (timer = next_due(moment))
        timer.call
        count += 1
      end
      count
    end

    # Waits until the time of a timer has come, and calls {#fire}.
    # @param timeout [Integer, Float, nil] seconds; nil: as long as there are timers
    # @return [Integer] callbacks that ran; 0 when time is up, or, without a timeout, when there is
    #   no timer
    # @raise [ArgumentTypeError, ArgumentValueError] when the timeout is no duration
    # @raise [Exception] of a callback
    def wait(timeout = nil)
      Timeout.check(timeout)
      deadline = timeout && now + timeout
      locked do
        until (first = @heap.first) && first.deadline <= now
          remaining = [first&.deadline, deadline].compact.min&.-(now)
          break unless remaining&.positive?
          @changed.wait(@lock, [remaining, LONGEST].min)
        end
      end
      fire
    end

    # @return [Float, nil] seconds until the next timer fires, 0 when its time has come; nil
    #   without a timer
    def next_in
      return if empty?
      first = locked { @heap.first }
      first && [first.deadline - now, 0.0].max
    end

    # @return [Integer] timers that will fire
    def size = @heap.size
    # @return [Boolean] whether no timer will fire
    def empty? = @heap.empty?

    # Cancels all timers.
    # @return [self]
    def cancel_all
      change { @heap.to_a.each { |timer| stop(timer) } }
      self
    end

    # @return [String]
    def inspect
      "#<#{self.class} #{size} pending#{", the next in #{next_in.round(3)} s" unless empty?}>"
    end
    alias_method :to_s, :inspect

    # @private
    def initialize_copy(_) = raise(Errors.no_copy("Timers object", "make another with Timers.new"))

    # @private
    def now = @clock ? @clock.call : Timeout.now

    # @private
    # @return [Timer, nil] the next timer whose time has come; its next deadline is set already
    def next_due(moment)
      @lock.synchronize do
        timer = @heap.first
        next unless timer && timer.deadline <= moment
        @horizon = moment if moment > @horizon
        goes_on = false
        @heap.update(timer) { goes_on = timer.advance(moment) }
        @heap.delete(timer) unless goes_on
        timer
      end
    end

    # @private
    def disarm(timer) = change { stop(timer) && empty? }
    # @private
    def rearm(timer, interval) = change { start(timer, interval) }

    # @private
    # Sets a block that is called, in any thread, when the next timer may have an earlier deadline
    # than before, or when no timer remains.
    def on_change(&block)
      @on_change = block
    end

    private

    def add(operation, seconds, times, block)
      raise Errors.bad_value(operation, "the call", "a block to run", nil) unless block
      seconds = Timers.seconds(operation, seconds)
      timer = Timer.new(self, locked { @serial += 1 }, seconds, times, block)
      rearm(timer, seconds)
      timer
    end

    def start(timer, interval)
      if timer.pending?
        @heap.update(timer) { timer.start(now, interval, @horizon) }
      else
        timer.start(now, interval, @horizon)
        @heap.push(timer)
      end
      @heap.first.equal?(timer)
    end

    def stop(timer)
      found = @heap.delete(timer)
      timer.cancelled!
      found
    end

    # Runs the block with masked interrupts. If the block returns true, wakes {#wait} and the loop.
    def change(&block)
      Thread.handle_interrupt(Object => :never) do
        next unless locked(&block)
        locked { @changed.broadcast }
        @on_change&.call
      end
    end

    def locked(&block) = Timers.locked(@lock, :timers, &block)
  end
end
