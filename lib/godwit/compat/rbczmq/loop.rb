# frozen_string_literal: true

module ZMQ
  # Waits for sockets, IOs and timers, and calls handlers: Godwit::Loop with rbczmq's manners.
  class Loop
    Failures = Godwit::Compat::Rbczmq::Failures
    Interrupts = Godwit::Compat::Rbczmq::Interrupts
    Arguments = Godwit::Compat::Rbczmq::Arguments
    CALLBACKS = {readable: :on_readable, writable: :on_writable}.freeze
    BITS = {readable: POLLIN, writable: POLLOUT}.freeze
    INTERRUPTED = 0
    STOPPED = -1
    private_constant :Failures, :Interrupts, :Arguments, :CALLBACKS, :BITS, :INTERRUPTED, :STOPPED

    def initialize
      @inner = Godwit::Loop.new
      @items = {}.compare_by_identity # pollable => its items
      @timers = {}.compare_by_identity # ours => Godwit's
      @silent = {}.compare_by_identity # our timers that are cancelled, and Godwit's may not be yet
      @late = [] # what Godwit's loop is still to be told
      @running = @interrupted = @ending = @verbose = @destroyed = false
    end

    # Runs until {#stop}, a callback gives false, something is raised, a signal is handled, or the
    # context ends.
    # @return [Integer] -1 when stopped by a callback, 0 when interrupted
    def start
      alive!
      return INTERRUPTED if ZMQ.interrupted?
      raise Error, "Ruby lets no loop run in a trap block" if Interrupts.trap?
      raise Error, "event loop running already!" if @running
      run
    end

    # @return [nil]
    def stop
      alive!
      raise Error, "event loop not running!" unless @running
      finish
      nil
    end

    # @return [Boolean]
    def running?
      alive!
      @running
    end

    # @param flag [Boolean] whether it, and what is registered, print what they do
    def verbose=(flag)
      alive!
      @verbose = (flag == true)
    end

    # @param thing [Pollitem, Socket, IO]
    # @return [Pollitem]
    def register(thing)
      alive!
      item = Pollitem.coerce(thing)
      item.verbose = true if @verbose
      known = @items[item.pollable] ||= []
      before = wanted(known)
      @items[item.pollable] = known + [item]
      watch(item.pollable, item.possible & ~before)
      @inner.post { serve_rest(item) } if item.rest?
      item
    end

    # @param thing [Pollitem, Socket, IO]
    # @return [nil]
    def remove(thing)
      alive!
      pollable = thing.is_a?(Pollitem) ? thing.pollable : thing
      items = @items[pollable] or return
      left = thing.is_a?(Pollitem) ? items.reject { |item| item.equal?(thing) } : []
      unwatch(pollable, wanted(items) & ~wanted(left))
      left.empty? ? @items.delete(pollable) : @items[pollable] = left
      nil
    end

    # @param timer [Timer]
    # @return [true]
    def register_timer(timer)
      alive!
      Arguments.type(timer, Timer)
      times = timer.times.zero? ? nil : timer.times
      told do
        @timers[timer]&.cancel
        @timers[timer] = @inner.every([timer.delay, 0].max, times: times) do |under|
          fire(timer, under)
        end
      end
      true
    end

    # @param timer [Timer]
    # @return [true]
    def cancel_timer(timer)
      alive!
      Arguments.type(timer, Timer)
      @silent[timer] = true
      told do
        @timers.delete(timer)&.cancel
        @silent.delete(timer)
      end
      true
    end

    # @return [nil]
    def destroy
      alive!
      @destroyed = true
      @inner.close
      nil
    end

    # @private
    # From a trap too.
    def interrupt
      @interrupted = true
      finish
    end

    private

    def run
      @running = true
      @interrupted = @ending = false
      Loop.runs(self) { Interrupts.during(-> { interrupt }) { @inner.run(forever: true) } }
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
      @inner.stop
    end

    def alive!
      if @destroyed
        raise Error,
          "ZMQ::Loop instance #{Failures.address(self)} has been destroyed by the ZMQ framework"
      end
    end

    def wanted(items) = items.map(&:possible).reduce(0, :|)

    # One callback of Godwit's for each event of a socket or IO; it calls all that want it.
    def watch(pollable, bits)
      inner = pollable.is_a?(Socket) ? pollable.inner : pollable
      told do
        @inner.readable(inner) { serve(pollable, :readable) } if bits.anybits?(POLLIN)
        @inner.writable(inner) { serve(pollable, :writable) } if bits.anybits?(POLLOUT)
      end
    end

    def unwatch(pollable, bits)
      inner = pollable.is_a?(Socket) ? pollable.inner : pollable
      told { @inner.remove(inner, *Pollitem.symbols(bits)) } unless bits.zero?
    end

    # Godwit's loop takes locks, which no trap block may: what is changed there it is told when it
    # goes on, or before the next change.
    def told(&change)
      Failures.translated do
        if Interrupts.trap?
          @late << change
          @inner.post { catch_up }
        else
          catch_up
          change.call
        end
      end
    end

    def catch_up
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

    # libzmq says nothing of the frames behind the first: they were taken with it.
    def serve_rest(item)
      invoke(item, :readable) while !@ending && item.rest? && registered?(item)
    end

    def registered?(item) = !!@items[item.pollable]&.any? { |one| one.equal?(item) }

    def invoke(item, event)
      handler = item.handler or
        raise Error,
          "a #{item.pollable.class} is ready, but its pollitem has no handler: give it one " \
          "with handler="
      calling(handler) { handler.__send__(CALLBACKS.fetch(event)) }
    end

    def fire(timer, under)
      if timer.cancelled?
        under.cancel
      elsif !@silent.key?(timer)
        calling(timer) { timer.call }
      end
      @timers.delete(timer) unless under.pending?
      @items.each_value.to_a.flatten.each { |item| serve_rest(item) if item.rest? }
    end

    # @param object [#on_error] that is told when the block raises
    def calling(object)
      finish if yield == false
    rescue => error
      finish if object.on_error(error) == false
    end
  end
end

require_relative "loop/class_methods"

ZL = ZMQ::Loop
