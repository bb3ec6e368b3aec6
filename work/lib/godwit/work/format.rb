# frozen_string_literal: true

require "json"

module Godwit
  module Work
    # How a topic's values become bytes. A nil value stays nil: it is a tombstone.
    # @private
    module Format
      # JSON; the names of objects come back as Symbols.
      module Json
        class << self
          # @return [String]
          # @raise [FormatError]
          def dump(value)
            JSON.generate(value)
          rescue JSON::JSONError, EncodingError => error
            raise FormatError, "JSON cannot hold this value (#{error.message}): convert it, or " \
              "declare the topic with format: :raw"
          end

          # @return [Object]
          # @raise [FormatError]
          def load(bytes)
            JSON.parse(bytes.dup.force_encoding(Encoding::UTF_8), symbolize_names: true)
          rescue JSON::JSONError, EncodingError => error
            raise FormatError, "this value is no JSON: #{error.message[0, 200]}"
          end
        end
      end

      # Strings of bytes.
      module Raw
        class << self
          # @return [String]
          # @raise [FormatError]
          def dump(value)
            return value if value.is_a?(String)
            raise FormatError, "format: :raw takes a String: got #{Godwit::Errors.shown(value)}"
          end

          # @return [String]
          def load(bytes) = bytes
        end
      end

      # Strings in UTF-8.
      module Text
        class << self
          # @return [String]
          # @raise [FormatError]
          def dump(value)
            text = value.encode(Encoding::UTF_8) if value.is_a?(String)
            return text if text&.valid_encoding?
            raise FormatError, "format: :text takes a String of valid characters: got " \
              "#{Godwit::Errors.shown(value)}; use format: :raw for bytes"
          rescue EncodingError => error
            raise FormatError, "format: :text takes a String of valid characters: #{error.message}"
          end

          # @return [Object]
          # @raise [FormatError]
          def load(bytes)
            text = bytes.dup.force_encoding(Encoding::UTF_8)
            text.valid_encoding? ? text : raise(FormatError, "this value is no UTF-8")
          end
        end
      end

      # An object of the program. No retry mends what it cannot do, whatever it raises.
      class Custom
        # @param object [#dump, #load]
        def initialize(object)
          @object = object
          @name = (object.is_a?(Module) ? object : object.class).name || "anonymous"
        end

        # @return [String] that the topic keeps
        attr_reader :name

        # @return [String]
        # @raise [FormatError]
        def dump(value)
          bytes = call(:dump, value)
          return bytes if bytes.is_a?(String)
          raise FormatError, "dump of the format #{@name} must return a String: it returned " \
            "#{Godwit::Errors.shown(bytes)}"
        end

        # @return [Object]
        # @raise [FormatError]
        def load(bytes) = call(:load, bytes)

        private

        def call(operation, value)
          @object.public_send(operation, value)
        rescue FormatError
          raise
        rescue => error
          raise FormatError, "#{operation} of the format #{@name} failed: #{error.class}: " \
            "#{error.message}: give it another value, or mend it"
        end
      end

      KNOWN = {"json" => Json, "raw" => Raw, "text" => Text}.freeze
      private_constant :KNOWN

      module_function

      # @param given [Symbol, Object] :json, :raw, :text, or an object with `dump` and `load`
      # @return [Array(String, Object)] the name that the topic keeps, and the format
      def find(given)
        name = given.to_s
        return [name, KNOWN[name]] if given.is_a?(Symbol) && KNOWN.key?(name)
        given = Custom.new(given) if given.respond_to?(:dump) && given.respond_to?(:load) &&
          !given.is_a?(Custom)
        return [given.name, given] if given.is_a?(Custom)
        raise Godwit::Errors.bad_value(:topic, "format:", ":json, :raw, :text, or an object with " \
          "dump and load", given)
      end

      # @return [Object, nil]
      def of(name) = KNOWN[name]

      # @return [TopicError] for a topic whose format is an object that is not declared here, or
      #   that another program made
      def unknown(topic)
        name = topic.name.inspect
        problem, fix = if topic.format
          ["has a format of its own, #{topic.format}", "an object with dump and load"]
        else
          ["is another program's, without a format", ":raw, for example"]
        end
        TopicError.new("topic #{name} #{problem}: declare it here with Godwit::Work.topic " \
          "#{name}, format: #{fix}")
      end
    end
  end
end
