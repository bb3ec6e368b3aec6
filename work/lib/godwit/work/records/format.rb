# frozen_string_literal: true

module Godwit
  module Work
    # How a topic's values become bytes: a format of {Formats}, with this gem's errors. A nil value
    # stays nil: it is a tombstone.
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
        # @return [Array(String, Format)] the name that the topic keeps, and the format
        def find(given)
          name, format = Formats.find(given, :topic)
          [name, new(format)]
        end

        # @raise [ArgumentValueError] when the format needs a gem that is missing
        def of(name)
          @known ||= {} # each produce to a topic without a declaration calls `of`
          @known[name] ||= Formats.of(name)&.then { |format| new(format) }
        end

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

      private

      def own(error)
        error.is_a?(FormatError) ? error : FormatError.new(error.message, bytes: error.bytes)
      end
    end
  end
end
