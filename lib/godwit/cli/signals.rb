# frozen_string_literal: true

module Godwit
  module CLI
    # Signals of a command that serves until one ends it.
    # @private
    module Signals
      module_function

      # @param names [Array<String>] of signals, such as "INT"
      # @yieldparam queue [Thread::Queue] that gets the names of those that come
      # @return [Object] the block's value
      def queued(*names)
        queue = Thread::Queue.new # a trap handler may push to it
        before = names.to_h { |name| [name, trap(name) { queue << name }] }
        yield queue
      ensure
        before&.each { |name, handler| trap(name, handler || "DEFAULT") }
        queue&.close
      end

      # @param name [String] of the signal that ended the command
      # @return [Integer] exit status
      def status(name) = (name == "INT") ? EXIT[:interrupted] : EXIT[:ok]
    end
  end
end
