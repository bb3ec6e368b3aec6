# frozen_string_literal: true

module Godwit
  module Compat
    # The rbczmq layer's own modules, which rbczmq does not have.
    module Rbczmq
      SOCKETS = WeakSet.new # all sockets that are open

      # In rbczmq a handled signal ends waits: recv returns nil, Poller#poll -1, Loop#start 0. Ruby
      # does not report that a trap block has run. So this module wraps `trap`: the script's handler
      # runs as before, and afterwards the main thread's wait ends.
      module Interrupts
        # Raised to end a wait. This module rescues it: no rescue of the script may catch it.
        class Interrupted < Exception # standard:disable Lint/InheritException
        end

        Wait = Struct.new(:fiber, :over)
        MASKED = {Interrupted => :never}.freeze
        UNMASKED = {Interrupted => :immediate}.freeze
        private_constant :Interrupted, :Wait, :MASKED, :UNMASKED

        @lock = Mutex.new

        class << self
          # Calls a block that waits but receives no message, which an Interrupted could lose. An
          # Interrupted is raised only in this block. It may come late: JRuby runs trap blocks in
          # another thread, and the FFI backend delays it while a thread holds a lock.
          # @return [Object, nil] the block's value; nil when a signal was handled during the wait
          def wait
            return yield unless interruptible?
            outer = @wait # a trap block may run during a wait, and wait too
            Thread.handle_interrupt(MASKED) do
              @wait = Wait.new(Fiber.current)
              Thread.handle_interrupt(UNMASKED) { yield }
            ensure
              @wait = outer # comes first: a trap block may raise an Interrupted here
              locked(@lock) {} # waits until a trap block that found this wait has raised
              # Raises a pending Interrupted here, even if the script masks it after this wait.
              Thread.handle_interrupt(UNMASKED) {}
            end
          rescue Interrupted
            outer.over = false if outer # so that the same signal ends the outer wait, too
            nil
          end

          # With a fiber scheduler, any fiber may run a trap block, so a signal ends no wait.
          # @return [Boolean] whether a signal can end a wait of this fiber
          def interruptible?
            Thread.current.equal?(Thread.main) &&
              !(Fiber.respond_to?(:scheduler) && Fiber.scheduler)
          end

          # @return [Boolean] whether this code runs in a trap block, where Ruby allows no lock
          def trap?
            Mutex.new.synchronize { false }
          rescue ThreadError
            true
          end

          # Holds the lock. A trap block needs no lock: the main thread runs nothing else meanwhile.
          def locked(lock, &block) = trap? ? yield : lock.synchronize(&block)

          # Calls the action when a signal is handled while the block runs in the main thread.
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

          # Runs after each handler of the script, in the main thread and the fiber that runs then.
          # On JRuby it runs in another thread.
          def handled
            return @action&.call unless @wait
            locked(@lock) do
              wait = @wait
              next if wait.nil? || wait.over
              next if Thread.current.equal?(Thread.main) && !Fiber.current.equal?(wait.fiber)
              wait.over = true # prevents a second Interrupted, which this module would not rescue
              Thread.main.raise(Interrupted) # a mask delays Thread#raise, but not Kernel#raise
            end
          end

          # @return [Object] the handler to give to Ruby's trap
          def wrap(handler)
            return handler unless handler.respond_to?(:call)
            wrapper = proc do |*arguments|
              handler.call(*arguments)
              Interrupts.handled
            end
            wrapper.instance_variable_set(:@godwit_handler, handler)
            wrapper
          end

          def unwrap(handler)
            handler.is_a?(Proc) && handler.instance_variable_get(:@godwit_handler) || handler
          end
        end

        # Prepended to Kernel#trap, Kernel.trap and Signal.trap.
        module Trap
          def trap(signal, *command, &block)
            block &&= Interrupts.wrap(block)
            command = command.map { |handler| Interrupts.wrap(handler) }
            Interrupts.unwrap(super(signal, *command, &block))
          end
        end

        Signal.singleton_class.prepend(Trap)
        Kernel.singleton_class.prepend(Trap)
        # Not every Ruby finds a module that is prepended to Kernel later, so Kernel#trap is wrapped
        # in Object.
        Object.prepend(Module.new {
          include Trap

          private :trap
        })
      end
    end
  end
end
