# frozen_string_literal: true

module Godwit
  module TestSupport
    # For scenarios that cannot hold on a runtime. test/RUNTIMES.md is made of these lines (rake
    # generate), so the reason is a literal text.
    module Runtimes
      # First line of such a test: `not_on :ffi, "why it cannot hold there"`.
      # @param runtime [Symbol] a backend, or the name of an engine such as :jruby
      def not_on(runtime, reason)
        if [Godwit::BACKEND, RUBY_ENGINE.to_sym].include?(runtime)
          skip("not on #{runtime}: #{reason}")
        end
      end
    end
  end
end
