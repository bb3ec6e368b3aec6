# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # A text that `inspect` and `pp` do not show. `to_s` returns the text, for librdkafka.
      # @private
      class Secret < String
        SHOWN = "***"

        def inspect = SHOWN

        # Prints the placeholder, for `pp`.
        def pretty_print(printer) = printer.text(SHOWN)

        # @param text [String] a message
        # @return [String] the message without the secret
        def hide(text) = empty? ? text : text.gsub(to_s, SHOWN)
      end
    end
  end
end
