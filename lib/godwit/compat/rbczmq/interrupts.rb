# frozen_string_literal: true

module Godwit
  module Compat
    # What stands behind rbczmq's door.
    # @private
    module Rbczmq
      # rbczmq's waits end when a signal is handled: recv gives nil, Poller#poll -1, Loop#start 0.
      # Ruby itself tells nobody that a trap ran, so `trap` is wrapped while this door is open; a
      # handler runs as before, then the main thread's wait is ended.
      # @private
      module Interrupts
        # Ends a wait; never seen outside. No rescue of the script may take it.
        class Interrupted < Exception # standard:disable Lint/InheritException
        end

        Wait = Struct.new(:fiber, :over)
        PUT_OFF = {Interrupted => :never}.freeze
        LET_IN = {Interrupted => :immediate}.freeze

        private_constant :Interrupted, :Wait, :PUT_OFF, :LET_IN

        @lock = Mutex.new

        class << self
          # Waits for a socket; takes no message off it.
          # @return [Integer, false, nil] its events; false when time is up; nil when a signal was
          #   handled meanwhile
          def wait_on(inner, event, milliseconds)
            wait { inner._wait(event, milliseconds) || false }
          end

          # Waits, in a block that takes no message off any socket. What the handler raises is let
          # in here and nowhere else: on JRuby, which runs handlers in a thread for them, it may
          # come late, and over FFI a lock's holder puts it off.
          # @return [Object, nil] what the block gives; nil when a signal was handled meanwhile
          def wait
            return yield unless interruptible?
            outer = @wait # a handler may wait too
            Thread.handle_interrupt(PUT_OFF) do
              @wait = Wait.new(Fiber.current)
              Thread.handle_interrupt(LET_IN) { yield }
            ensure
              @wait = outer # before all else: a handler may raise here
              locked(@lock) {} # who found it there has raised
              Thread.handle_interrupt(LET_IN) {} # not at the end of a mask of the script's
            end
          rescue Interrupted
            outer.over = false if outer # it was perhaps told of what ended this one
            nil
          end

          # A fiber scheduler runs traps wherever it is.
          # @return [Boolean] whether a wait here can be ended
          def interruptible?
            Thread.current.equal?(Thread.main) &&
              !(Fiber.respond_to?(:scheduler) && Fiber.scheduler)
          end

          # @return [Boolean] whether this is a trap block, where Ruby allows no lock
          def trap?
            Mutex.new.synchronize { false }
          rescue ThreadError
            true
          end

          # With the lock, where Ruby allows one: a trap block has the process's main thread, and is
          # over at once.
          def locked(lock, &block) = trap? ? yield : lock.synchronize(&block)

          # @param action [#call] called in the main thread's stead when a signal was handled while
          #   the block runs
          def during(action)
            return yield unless Thread.current.equal?(Thread.main)
            previous = @action
            begin
              @action = action
              yield
            ensure
              @action = previous
            end
          end

          # A handler was run: in the main thread, in whatever fiber that is, but on JRuby in a
          # thread for it.
          def came
            return @action&.call unless @wait
            locked(@lock) do
              wait = @wait
              if wait.nil? || wait.over ||
                  (Thread.current.equal?(Thread.main) && !Fiber.current.equal?(wait.fiber))
                next
              end
              wait.over = true # one who is told twice takes the second out of here
              Thread.main.raise(Interrupted) # which, unlike a `raise`, a mask puts off
            end
          end

          # @return [Object] what to give to trap in the handler's stead
          def wrap(handler)
            return handler unless handler.respond_to?(:call)
            wrapper = proc do |*arguments|
              handler.call(*arguments)
              Interrupts.came
            end
            wrapper.instance_variable_set(:@godwit_handler, handler)
            wrapper
          end

          # @return [Object] the handler that was wrapped
          def unwrap(handler)
            handler.is_a?(Proc) && handler.instance_variable_get(:@godwit_handler) || handler
          end
        end

        # In front of Kernel#trap, Kernel.trap and Signal.trap.
        # @private
        module Trap
          # As Ruby's.
          def trap(signal, *command, &block)
            old =
              if command.empty? && block
                super(signal, &Interrupts.wrap(block))
              else
                super(signal, *command.map { |handler| Interrupts.wrap(handler) }, &block)
              end
            Interrupts.unwrap(old)
          end
        end

        Signal.singleton_class.prepend(Trap)
        Kernel.singleton_class.prepend(Trap)
        # Kernel's own is not looked up through a module that is prepended later on every Ruby.
        Object.prepend(Module.new {
          include Trap

          private :trap
        })
      end
    end
  end
end
