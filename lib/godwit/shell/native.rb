# frozen_string_literal: true

module Godwit
  module Shell
    # What the extension does for the shell, where it is loaded: {Rows}, and two questions about a
    # child process that Ruby has no method for.
    # @private
    module Native
      if BACKEND == :native
        Rows = Backend::Native::Rows
        CHILDREN = Backend::Native
      else
        require_relative "rows"
        require_relative "children"
        Rows = Shell.const_get(:Rows)
        CHILDREN = Shell.const_get(:Children)
      end

      # @return [Boolean, nil] true: it ended, and nobody has taken its status; nil: it is no child
      #   of ours, or no longer
      def self.exited?(pid) = CHILDREN.exited?(pid)

      # @return [Integer, nil] a descriptor that is readable once the process has ended; nil where
      #   the kernel has none
      def self.pidfd(pid) = CHILDREN.pidfd(pid)
    end
    private_constant :Native
  end
end
