# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # The common case of sending and receiving: one String, or whatever comes, and nobody who waits. The lock is held, but no interrupt is put
      # off (ADR 15): one that comes is before libzmq has or gives the message or after, and what it ends leaves nothing undone; of a message
      # of several frames @torn tells.
      # @private
      class SocketHandle
        # No interrupt can leave the lock of Mutex#synchronize taken.
        # @return [true, nil] nil: nothing was sent, and the whole way shall tell why
        def send_in_turn(string)
          return if (@turns += 1) >= MOST
          sent = guard.synchronize do
            @open && (@simple || sends_simply?) && !@peers && @waiters.empty? && @birth == Birth::PAGE.get_int32(0) &&
              Zmq.send_string(@address, string, string.bytesize, DONTWAIT) >= 0
          end
          close if @close_due
          true if sent
        rescue ThreadError, Lock::Held # in a trap handler
          nil
        end

        # @param timeout [Integer, nil] as the primitives'
        # @return [String, Array<String>, Object, nil] AGAIN when time is up; nil: nothing was taken, and the whole way shall tell why
        def receive_in_turn(timeout)
          return if (@turns += 1) >= MOST
          turn = message = nil
          guard.synchronize do
            if @open && (@simple || receives_simply?) && !@peers && !@torn && @waiters.empty? && @birth == Birth::PAGE.get_int32(0)
              @torn = true
              size = Zmq.receive(@incoming_address, @address, DONTWAIT)
              if size < 0
                if timeout != 0 && waits_simply?
                  turn = @alone_turn += 1 # before he stands there, so that no interrupt leaves him behind
                  @waiters << @alone_waiter
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
          turn ? wait_alone(turn, timeout) : message
        rescue ThreadError, Lock::Held # in a trap handler
          nil
        ensure
          leave_alone(turn) if turn && turn == @alone_turn && !@waiters.empty?
          mend_torn if @torn
        end

        if RUBY_ENGINE == "jruby"
          # A call of another Ruby method, a block, a rescue and a `super` take JRuby as long as libzmq's own call each, so there are none of them. It
          # looks for interrupts where a loop turns and a thread waits: never between the lock and its `ensure`.

          def send_at_once(string)
            return send_in_turn(string) if Scheduler::POSSIBLE || !@mutex.try_lock
            begin
              sent = @open && (@simple || sends_simply?) && !@peers && @waiters.empty? && Zmq.send_string(@address, string, string.bytesize, DONTWAIT) >= 0
            ensure
              @mutex.unlock
            end
            close if @close_due
            true if sent
          end

          def receive_at_once(timeout)
            return receive_in_turn(timeout) if Scheduler::POSSIBLE || !@mutex.try_lock
            turn = message = whole = nil
            begin
              begin
                if @open && (@simple || receives_simply?) && !@peers && !@torn && @waiters.empty?
                  @torn = true
                  size = Zmq.receive(@incoming_address, @address, DONTWAIT)
                  if size < 0
                    if timeout != 0 && waits_simply?
                      turn = @alone_turn += 1
                      @waiters << @alone_waiter
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
                mend_torn unless whole
              end
              close if @close_due
              turn ? wait_alone(turn, timeout) : message
            ensure
              leave_alone(turn) if turn && turn == @alone_turn && !@waiters.empty?
            end
          end
        else
          alias_method :send_at_once, :send_in_turn
          alias_method :receive_at_once, :receive_in_turn
        end

        private

        # Where there is a fiber scheduler nobody stands in a Mutex's line: see {Lock}.
        def guard = (Scheduler::POSSIBLE && Fiber.scheduler) ? @lock : @mutex

        # Other types than PUSH, DEALER and the like, which have nothing to mend.
        def sends_simply?
          @plain && @repair == :sound && (!@takes_turns || !@watches) && (!@publisher || Clock.now - @drained < DRAIN_EVERY)
        end

        def receives_simply? = @plain && !@stale_reply_pipe && !@publisher && (!@takes_turns || !@watches)

        def taken_at_once(size)
          message = copy_incoming(size)
          @more ? Thread.handle_interrupt(Lock::NEVER) { take_rest(message, false) } : message
        end

        # Nothing was there, and nobody waits. A waiter who is alone is always the same one.
        def waits_simply?
          return false if ::FFI.errno != EAGAIN || @feed || Scheduler.here?
          @alone_waiter ||= Waiter.new(@line.spare, READABLE)
        rescue Failed # no descriptor is left
          false
        end

        # Waits in the line, and takes the message, if all is as it was; else the whole way is taken.
        # @param turn [Integer] whose place it is: one who is interrupted after he has left takes nobody else's
        # @return as receive_in_turn
        def wait_alone(turn, timeout)
          timeout ||= @receive_timeout
          deadline = Clock.deadline(timeout) if timeout >= 0
          message = nil
          nothing = again = true # at once: a flood brings the next meanwhile, and to sleep for each one costs both sides more
          while nothing
            break message = AGAIN unless again || @alone_waiter.wake_up.pause(@io, deadline) || !Clock.passed?(deadline)
            again = false
            @mutex.synchronize do
              nothing = false
              if @open && (@simple || receives_simply?) && !@peers && !@torn && !@feed && @waiters.size == 1 && @birth == Birth::PAGE.get_int32(0)
                @alone_waiter.wake_up.reset
                @torn = true
                size = Zmq.receive(@incoming_address, @address, DONTWAIT)
                if size < 0
                  nothing = ::FFI.errno == EAGAIN
                else
                  message = if @binary && size > 0 && size <= KEPT && Zmq.more(@incoming_address) == 0
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
          leave_alone(turn)
          message || attempt(deadline, READABLE) { try_receive(false) }
        rescue Failed
          nil
        ensure
          mend_torn if @torn
        end

        def leave_alone(turn)
          @lock.synchronize do
            next unless turn == @alone_turn && @alone_waiter
            waiter = @waiters.delete(@alone_waiter)
            @alone_waiter = nil # his wake-up goes back to the others
            @line.recycle(waiter, keep: @state == :open) if waiter
            release_unused
          end
        end

        # The last to leave closes. The lock is held.
        def depart(line, waiter)
          line.leave(waiter, keep: line.equal?(@line) && @state == :open)
          release_unused
        end
      end
    end
  end
end
