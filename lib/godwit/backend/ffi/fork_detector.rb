# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # Tells a forked child from its parent: the child counts one fork more.
    module ForkDetector
      COUNT = [0] # standard:disable Style/MutableConstant -- read without a method call

      module Hook
        def _fork = super.tap { |pid| COUNT[0] += 1 if pid.zero? }

        def daemon(...) = super.tap { COUNT[0] += 1 }
      end
      Process.singleton_class.prepend(Hook) if Process.respond_to?(:_fork)
    end
  end
end
