# frozen_string_literal: true

require "godwit/printable"

module Godwit
  module Work
    module Kafka
      # Makes librdkafka's object of properties.
      # @private
      module Configuration
        OK = 0
        TEXT = 512 # most bytes of librdkafka's reason for an error

        class << self
          # @param properties [Hash{String => String}] of {Settings}
          # @return [FFI::Pointer] an rd_kafka_conf_t, which the caller owns
          # @raise [ArgumentValueError] with librdkafka's reason
          def make(properties)
            Functions.load
            made = Functions.conf_new
            Functions.conf_set_log_cb(made, nil) unless properties.key?("debug")
            properties.each { |name, value| set(made, name, value) }
            whole = made
          ensure
            destroy(made) if made && !whole
          end

          # @param configuration [FFI::Pointer] that no handle has adopted
          def destroy(configuration) = Functions.conf_destroy(configuration)

          private

          def set(made, name, value)
            text = ::FFI::MemoryPointer.new(TEXT)
            return if Functions.conf_set(made, name, value.to_s, text, TEXT) == OK
            reason = text.read_string
            reason = value.hide(reason) if value.is_a?(Secret)
            raise Godwit::Errors.of(ArgumentValueError, :connect,
              "kafka: #{name.inspect}: #{Printable.text(reason)}")
          end
        end
      end
    end
  end
end
