# frozen_string_literal: true

module Godwit
  module Shell
    if BACKEND == :native
      # Splits output into rows.
      # @private
      Rows = Backend::Native::Rows
      # System calls for which Ruby has no method. `exited?(pid)` returns whether a child has ended
      # and has not been reaped, and nil for a process that is no child. `pidfd(pid)` returns a
      # descriptor that is readable once the process has ended, and nil where the kernel has none.
      # @private
      Children = Backend::Native
      private_constant :Rows, :Children
    else
      require_relative "rows"
      require_relative "children"
    end
  end
end
