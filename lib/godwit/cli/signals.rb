# frozen_string_literal: true

module Godwit
  module CLI
    # Receives the signals that end a command, such as a server.
    # @private
    module Signals
      module_function

      # @yieldparam queue [Thread::Queue] gets the name of each signal that arrives
      def queued(*names)
        queue = Thread::Queue.new
        # CRuby loses the wake-up of a main thread that begins to pop what a trap block pushes.
        before = names.to_h do |name|
          [name, trap(name) { Thread.new { queue << name unless queue.closed? } }]
        end
        yield queue
      ensure
        before&.each { |name, handler| trap(name, handler || "DEFAULT") }
        queue&.close
      end

      # Starts a thread that waits for a server's end. A server that ends before a signal comes has
      # failed: then the queue gets the error.
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
