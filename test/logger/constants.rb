# frozen_string_literal: true

module Godwit
  module TestSupport
    # Changes constants of the library, such as time limits, during a block.
    module Constants
      # Never undefines a constant before it sets the new value: another thread may read it then.
      # @param type [Module]
      # @param values [Hash{Symbol => Object}] values of its constants during the block
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
