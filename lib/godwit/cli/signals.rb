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
        # CRuby loses the wake-up when a trap block itself pushes while the main thread begins to
        # pop (sleep_forever in thread.c): the main thread would sleep beside a full queue.
        push = ->(name) { Thread.new { queue << name unless queue.closed? } }
        before = names.to_h { |name| [name, trap(name) { push.call(name) }] }
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
