# frozen_string_literal: true

module Godwit
  module Formats
    # A format that is an object of the program. Each error of the object becomes a FormatError.
    class Custom
      def initialize(object)
        @object = object
        @name = (object.is_a?(Module) ? object : object.class).name || "anonymous"
      end

      # @return [String] the name that a topic of godwit-work stores
      attr_reader :name

      def dump(value)
        bytes = call(:dump, value)
        return bytes if bytes.is_a?(String)
        raise FormatError, "dump of the format #{@name} must return a String: it returned " \
          "#{Errors.shown(bytes)}"
      end

      def load(bytes) = call(:load, bytes)

      private

      def call(operation, value)
        @object.public_send(operation, value)
      rescue FormatError
        raise
      rescue => error
        raise FormatError.new(
          "#{operation} of the format #{@name} failed: #{error.class}: " \
            "#{Printable.line(error.message)}: give it another value, or mend it",
          bytes: ((operation == :load) ? value : nil)
        )
      end
    end
  end
end
