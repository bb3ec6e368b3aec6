# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # An error entry in the queue of a partition: the number of librdkafka's error, the topic,
      # the partition, the offset (below 0: of no record), and librdkafka's text.
      # @private
      Failure = Struct.new(:code, :topic, :partition, :offset, :text)
    end
  end
end
