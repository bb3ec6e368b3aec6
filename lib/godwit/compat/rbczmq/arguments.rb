# frozen_string_literal: true

module Godwit
  module Compat
    module Rbczmq
      # rbczmq raises TypeError for what is of a wrong class.
      # @private
      module Arguments
        module_function

        def type(value, *classes)
          return value if classes.any? { |klass| klass === value }
          raise ::TypeError, "wrong argument type #{value.class} (expected #{classes.join(" or ")})"
        end

        def boolean(value)
          return value if value == true || value == false
          raise ::TypeError, "wrong argument #{value.inspect} (expected true or false)"
        end

        # What has to_str goes too.
        def string(value)
          String.try_convert(value) ||
            raise(::TypeError, "wrong argument type #{value.class} (expected String)")
        end
      end
    end
  end
end
