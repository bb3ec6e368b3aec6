# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # Tells a forked child from its parent: the child counts one fork more.
      # @private
      module ForkDetector
        COUNT = [0] # standard:disable Style/MutableConstant -- read without a method call

        # @private
        module Hook
          def _fork = super.tap { |pid| COUNT[0] += 1 if pid.zero? }

          def daemon(...) = super.tap { COUNT[0] += 1 }
        end
        Process.singleton_class.prepend(Hook) if Process.respond_to?(:_fork)
      end
    end
  end
end
