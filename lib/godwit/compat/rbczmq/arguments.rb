# frozen_string_literal: true

module Godwit
  module Compat
    module Rbczmq
      # Raises TypeError for arguments of a wrong class, as rbczmq does.
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

        # Takes any object with to_str.
        def string(value) = String.try_convert(value) || type(value, String)
      end
    end
  end
end
