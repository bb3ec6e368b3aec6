# frozen_string_literal: true

module Godwit
  module TestSupport
    # Bounds of time that the library has, for a test whose machine may be busy.
    module Constants
      # Never without one, as a thread may be about to look.
      # @param type [Module]
      # @param values [Hash{Symbol => Object}] of its constants, for the block
      def with_constants(type, **values)
        before = values.to_h { |name, _| [name, type.const_get(name)] }
        replace_constants(type, values)
        yield
      ensure
        replace_constants(type, before)
      end

      private

      def replace_constants(type, values)
        verbose, $VERBOSE = $VERBOSE, nil
        values.each do |name, value|
          type.const_set(name, value)
        end
      ensure
        $VERBOSE = verbose
      end
    end
  end
end
