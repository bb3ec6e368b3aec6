# frozen_string_literal: true

module Godwit
  module Shell
    if BACKEND == :native
      # The extension has what rows.rb and children.rb define for the FFI backend. `exited?(pid)`
      # returns whether a child has ended and has not been reaped, and nil for a process that is no
      # child. `pidfd(pid)` returns nil where the kernel has none.
      {Rows: Backend::Native::Rows, Children: Backend::Native}.each do |name, value|
        const_set(name, value)
        private_constant name
      end
    else
      require_relative "rows"
      require_relative "children"
    end
  end
end
