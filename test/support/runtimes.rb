# frozen_string_literal: true

module Godwit
  module TestSupport
    # For scenarios that cannot hold on a backend. docs/runtimes.md is made of these lines (rake generate), so the reason stands there as text.
    module Runtimes
      # First line of such a test: `not_on :ffi, "why it cannot hold there"`.
      def not_on(backend, reason)
        skip("not on #{backend}: #{reason}") if backend == Godwit::BACKEND
      end
    end
  end
end
