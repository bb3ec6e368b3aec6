# frozen_string_literal: true

module Godwit
  module TestSupport
    # Marks scenarios that cannot work on a runtime. `rake generate` makes test/RUNTIMES.md from the
    # calls of `not_on`, so the reason must be a literal text.
    module Runtimes
      # The first line of such a test: `not_on :ffi, "the reason"`.
      # @param runtime [Symbol] a backend, or the name of an engine such as :jruby
      def not_on(runtime, reason)
        if [Godwit::BACKEND, RUBY_ENGINE.to_sym].include?(runtime)
          skip("not on #{runtime}: #{reason}")
        end
      end
    end
  end
end
