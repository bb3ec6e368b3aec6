# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # The common case of sending and receiving: one String, or whatever comes, and nobody who
      # waits. The lock is held, but no interrupt is put off (ADR 15): one that comes is before
      # libzmq has or gives the message or after, and what it ends leaves nothing undone; of a
      # message of several frames @torn tells.
      # @private
      class SocketHandle
        # No interrupt can leave the lock of Mutex#synchronize taken.
        # @return [true, nil] nil: nothing was sent, and the slow path shall tell why
        def send_fast(string)
          return if (@turns += 1) >= MOST
          sent = guard.synchronize do
            @open && (@simple || sends_simply?) && !@peers && @waiters.empty? &&
              @generation == ForkDetector::PAGE.get_int32(0) &&
              Zmq.send_string(@address, string, string.bytesize, DONTWAIT) >= 0
          end
          close if @close_due
          true if sent
        rescue ThreadError, Lock::Held # in a trap handler
          nil
        end

        # @param timeout [Integer, nil] as the primitives'
        # @return [String, Array<String>, Object, nil] AGAIN when time is up; nil: nothing was
        #   taken, and the slow path shall tell why
        def receive_fast(timeout)
          return if (@turns += 1) >= MOST
          turn = message = nil
          guard.synchronize do
            if @open && (@simple || receives_simply?) && !@peers && !@torn && @waiters.empty? &&
                @generation == ForkDetector::PAGE.get_int32(0)
              @torn = true
              size = Zmq.receive(@incoming_address, @address, DONTWAIT)
              if size < 0
                if timeout != 0 && waits_simply?
                  # Before it enters, so that no interrupt leaves a waiter behind.
                  turn = @only_turn += 1
                  @waiters << @only_waiter
                end
              elsif @binary && size > 0 && size <= KEPT && Zmq.more(@incoming_address) == 0
                message = Zmq::MEMORY.get_bytes(Zmq.data(@incoming_address) - 1, size)
              else
                message = taken_at_once(size)
              end
              @torn = false
            end
          end
          close if @close_due
          turn ? wait_as_only(turn, timeout) : message
        rescue ThreadError, Lock::Held # in a trap handler
          nil
        ensure
          leave_as_only(turn) if turn && turn == @only_turn && !@waiters.empty?
          repair_torn if @torn
        end

        if RUBY_ENGINE == "jruby"
          # A call of another Ruby method, a block, a rescue and a `super` take JRuby as long as
          # libzmq's own call each, so there are none of them. It looks for interrupts where a loop
          # turns and a thread waits: never between the lock and its `ensure`.

          def send_at_once(string)
            return send_fast(string) if Scheduler::POSSIBLE || !@mutex.try_lock
            begin
              sent =
                @open && (@simple || sends_simply?) && !@peers && @waiters.empty? &&
                Zmq.send_string(@address, string, string.bytesize, DONTWAIT) >= 0
            ensure
              @mutex.unlock
            end
            close if @close_due
            true if sent
          end

          def receive_at_once(timeout)
            return receive_fast(timeout) if Scheduler::POSSIBLE || !@mutex.try_lock
            turn = message = whole = nil
            begin
              begin
                if @open && (@simple || receives_simply?) && !@peers && !@torn && @waiters.empty?
                  @torn = true
                  size = Zmq.receive(@incoming_address, @address, DONTWAIT)
                  if size < 0
                    if timeout != 0 && waits_simply?
                      turn = @only_turn += 1
                      @waiters << @only_waiter
                    end
                  elsif @binary && size > 0 && size <= KEPT && Zmq.more(@incoming_address) == 0
                    message = Zmq::MEMORY.get_bytes(Zmq.data(@incoming_address) - 1, size)
                  else
                    message = taken_at_once(size)
                  end
                  @torn = false
                end
                whole = true
              ensure
                @mutex.unlock
                repair_torn unless whole
              end
              close if @close_due
              turn ? wait_as_only(turn, timeout) : message
            ensure
              leave_as_only(turn) if turn && turn == @only_turn && !@waiters.empty?
            end
          end
        else
          alias_method :send_at_once, :send_fast
          alias_method :receive_at_once, :receive_fast
        end

        private

        # Where there is a fiber scheduler nobody stands in a Mutex's line: see {Lock}.
        def guard = (Scheduler::POSSIBLE && Fiber.scheduler) ? @lock : @mutex

        # Other types than PUSH, DEALER and the like, which have nothing to mend.
        def sends_simply?
          @plain && @repair == :sound && (!@takes_turns || !@watches) &&
            (!@publisher || Clock.now - @drained < DRAIN_EVERY)
        end

        def receives_simply?
          @plain && !@stale_reply_pipe && !@publisher && (!@takes_turns || !@watches)
        end

        def taken_at_once(size)
          message = copy_incoming(size)
          @more ? Thread.handle_interrupt(Lock::NEVER) { take_rest(message, false) } : message
        end

        # Nothing was there, and nobody waits. A waiter who is alone is always the same one.
        def waits_simply?
          return false if ::FFI.errno != EAGAIN || @monitor_pump || Scheduler.here?
          @only_waiter ||= Waiter.new(@queue.spare, READABLE)
        rescue Failed # no descriptor is left
          false
        end

        # Waits in the line, and takes the message, if all is as it was; else the slow path is
        # taken.
        # @param turn [Integer] the waiter's number: a call that is interrupted after it left
        #   removes no other waiter
        # @return as receive_fast
        def wait_as_only(turn, timeout)
          timeout ||= @receive_timeout
          deadline = Clock.deadline(timeout) if timeout >= 0
          message = nil
          # At once: a flood brings the next meanwhile, and to sleep for each one costs both sides
          # more.
          nothing = again = true
          while nothing
            break message = AGAIN unless again || @only_waiter.wake_up.pause(@io, deadline) ||
              !Clock.passed?(deadline)
            again = false
            @mutex.synchronize do
              nothing = false
              if @open && (@simple || receives_simply?) && !@peers && !@torn && !@monitor_pump &&
                  @waiters.size == 1 && @generation == ForkDetector::PAGE.get_int32(0)
                @only_waiter.wake_up.reset
                @torn = true
                size = Zmq.receive(@incoming_address, @address, DONTWAIT)
                if size < 0
                  nothing = ::FFI.errno == EAGAIN
                else
                  message =
                    if @binary && size > 0 && size <= KEPT && Zmq.more(@incoming_address) == 0
                      Zmq::MEMORY.get_bytes(Zmq.data(@incoming_address) - 1, size)
                    else
                      taken_at_once(size)
                    end
                  @waiters.clear
                end
                @torn = false
              end
            end
            close if @close_due
          end
          return message if message && !AGAIN.equal?(message)
          leave_as_only(turn)
          message || attempt(deadline, READABLE) { try_receive(false) }
        rescue Failed
          nil
        ensure
          repair_torn if @torn
        end

        def leave_as_only(turn)
          @lock.synchronize do
            next unless turn == @only_turn && @only_waiter
            waiter = @waiters.delete(@only_waiter)
            @only_waiter = nil # its wake-up goes back to the spare ones
            @queue.recycle(waiter, keep: @state == :open) if waiter
            release_unused
          end
        end

        # The last to leave closes. The lock is held.
        def depart(queue, waiter)
          queue.leave(waiter, keep: queue.equal?(@queue) && @state == :open)
          release_unused
        end
      end
    end
  end
end
