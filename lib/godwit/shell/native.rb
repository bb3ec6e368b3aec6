# frozen_string_literal: true

module Godwit
  module Shell
    # The extension's accelerators, or their equivalents in Ruby: {Rows} splits output into rows;
    # `exited?` and `pidfd` are system calls for which Ruby has no method.
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

      # @return [Boolean, nil] whether it ended and has not been reaped; nil: it is not our child
      def self.exited?(pid) = CHILDREN.exited?(pid)
      # @return [Integer, nil] a descriptor that is readable once the process has ended; nil where
      #   the kernel has none
      def self.pidfd(pid) = CHILDREN.pidfd(pid)
    end
    private_constant :Native
  end
end
