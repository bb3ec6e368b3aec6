# frozen_string_literal: true

module Godwit
  module Work
    # Converts a topic's values to bytes and back with a format of {Formats}; raises this gem's
    # errors. A nil value stays nil: it is a tombstone.
    # @private
    class Format
      def initialize(format)
        @format = format
      end

      def dump(value)
        @format.dump(value)
      rescue Godwit::FormatError => error
        raise own(error), cause: error.cause
      end

      def load(bytes)
        @format.load(bytes)
      rescue Godwit::FormatError => error
        raise own(error), cause: error.cause
      end

      class << self
        # @param given [Symbol, Object] such as :json, or an object with `dump` and `load`
        # @return [Array(String, Format)] the name that the topic stores, and the format
        def find(given)
          name, format = Formats.find(given, :topic)
          [name, new(format)]
        end

        # @raise [ArgumentValueError] when the format needs a gem that is missing
        def of(name)
          @known ||= {} # a cache: each produce to a topic that is not declared calls `of`
          @known[name] ||= Formats.of(name)&.then { |format| new(format) }
        end

        # @return [TopicError] for a topic of another program that has no format, or whose format is
        #   an object that this process has not declared
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

      private

      def own(error)
        error.is_a?(FormatError) ? error : FormatError.new(error.message, bytes: error.bytes)
      end
    end
  end
end
