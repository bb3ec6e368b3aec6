# frozen_string_literal: true

module Godwit
  module CLI
    # Signals of a command that serves until a signal ends it.
    # @private
    module Signals
      module_function

      # @yieldparam queue [Thread::Queue] that gets the name of each signal that comes
      def queued(*names)
        queue = Thread::Queue.new # a trap handler may push to it
        before = names.to_h { |name| [name, trap(name) { queue << name }] }
        yield queue
      ensure
        before&.each { |name, handler| trap(name, handler || "DEFAULT") }
        queue&.close
      end

      # Starts a thread that waits for a server, which ends by itself only after an error. The queue
      # gets that error.
      def watch(server, queue, operation, name)
        Thread.new do
          server.wait
          queue << StateError.new("the #{name} has ended", operation: operation)
        rescue => error
          queue << error
        end
      end

      def status(name) = (name == "INT") ? EXIT[:interrupted] : EXIT[:ok]
    end
  end
end
