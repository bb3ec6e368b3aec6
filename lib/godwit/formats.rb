# frozen_string_literal: true

%w[custom json msgpack raw text].each { |file| require_relative "formats/#{file}" }

module Godwit
  # How values become bytes, for `format:` of sockets and of the topics of godwit-work. A format has
  # `dump` and `load`, which raise {FormatError}. Any thread and any Ractor may use a format.
  module Formats
    KNOWN = Runtime.shareable({"json" => Json, "msgpack" => Msgpack, "raw" => Raw, "text" => Text})

    class << self
      # `given` is a name, or an object with `dump` and `load`. Returns name and format. Raises
      # ArgumentValueError when there is no such format, or its gem is missing.
      def find(given, operation)
        name = given.to_s
        return [name, of(name)] if given.is_a?(Symbol) && KNOWN.key?(name)
        raise Errors.of(ArgumentValueError, operation, marshal) if given == :marshal
        given = Custom.new(given) if given.respond_to?(:dump) && given.respond_to?(:load) &&
          !given.is_a?(Custom)
        return [given.name, given] if given.is_a?(Custom)
        raise Errors.bad_value(operation, "format:", "#{names}, or an object with dump and load",
          given)
      end

      def of(name) = KNOWN[name]&.tap(&:require_library)

      private

      def names = KNOWN.keys.map { |name| ":#{name}" }.join(", ")

      def marshal
        "format: :marshal is refused, since Marshal.load runs code that the sender of the bytes " \
          "chooses: use :json or :msgpack; for peers that you trust like yourself, format: Marshal"
      end
    end
  end
  private_constant :Formats
end
