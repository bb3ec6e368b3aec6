# frozen_string_literal: true

module Godwit
  module Work
    # Kafka by librdkafka, which the gem ffi calls. Nothing loads it without a `kafka://` URL.
    # @private
    module Kafka
      autoload :Functions, "godwit/work/engine/kafka/functions"
      autoload :Library, "godwit/work/engine/kafka/library"
    end
  end
end
