# frozen_string_literal: true

module Godwit
  module Work
    # Kafka by librdkafka, which the gem ffi calls. Nothing loads it without a `kafka://` URL.
    # @private
    module Kafka
      autoload :Block, "godwit/work/engine/kafka/block"
      autoload :Delivery, "godwit/work/engine/kafka/delivery"
      autoload :Failure, "godwit/work/engine/kafka/failure"
      autoload :Functions, "godwit/work/engine/kafka/functions"
      autoload :Library, "godwit/work/engine/kafka/library"
      autoload :Native, "godwit/work/kafka_ext"
    end
  end
end
