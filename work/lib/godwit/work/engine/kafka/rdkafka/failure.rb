# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # An error entry in the queue of a partition: the number of librdkafka's error, the topic,
      # the partition, the offset (below 0: of no record), and librdkafka's text.
      # @private
      Failure = Struct.new(:code, :topic, :partition, :offset, :text) do
        # @return [Boolean] whether the entry tells the end of the partition, which is no error
        def end? = code == -191

        # @return [Boolean] whether the offset is before the log's start, or behind its end
        def not_there? = code == 1 || code == -140

        # @return [Error] to raise
        def to_error(operation) = Errors.of(code, operation, text, resource: topic)
      end
    end
  end
end
