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

      def status(name) = (name == "INT") ? EXIT[:interrupted] : EXIT[:ok]
    end
  end
end
