# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Reads the Hash that the keyword `kafka:` of `connect` or of `topic` gets.
      # @private
      module UserProperties
        NAME = /\A[\w.]+\z/
        RETAIN = /\Aretention\./

        class << self
          # @param operation [Symbol] the operation that errors name
          # @param properties [Hash{String, Symbol => String, Integer, Boolean}]
          # @return [Hash{String => String}] frozen; its `inspect` shows no secret
          def read(operation, properties)
            unless properties.is_a?(Hash)
              raise Godwit::Errors.bad_value(operation, "kafka:", "a Hash of properties",
                properties, secret: true)
            end
            properties.to_h { |name, value| entry(operation, name, value) }.freeze
          end

          # The settings with which Work creates a topic, such as "replication.factor".
          # @return [Hash{String => String}] frozen
          def topic(properties)
            read(:topic, properties).each_key do |name|
              next unless name.match?(RETAIN)
              raise Godwit::Errors.of(ArgumentValueError, :topic,
                "kafka: takes no #{name.inspect}: use the keyword retain:")
            end
          end

          private

          def entry(operation, name, value)
            unless [String, Symbol].include?(name.class) && name.match?(NAME)
              raise Godwit::Errors.bad_value(operation, "kafka:", "names of properties, such as " \
                "\"ssl.ca.location\"", name)
            end
            [name.to_s.dup.freeze, text(operation, name.to_s, value)]
          end

          def text(operation, name, value)
            secret = Properties.secret?(name)
            if fits?(value)
              return secret ? Secret.new(value.to_s).freeze : value.to_s.dup.freeze
            end
            raise Godwit::Errors.bad_value(operation, "kafka: #{name.inspect}",
              "a String without NUL, an Integer, true or false", value, secret: secret)
          end

          def fits?(value)
            case value
            when String then !value.b.include?("\0")
            when Integer, true, false then true
            end
          end
        end
      end
    end
  end
end
