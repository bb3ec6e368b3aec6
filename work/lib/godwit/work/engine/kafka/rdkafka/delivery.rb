# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # The outcome of a Native::Deliveries#produce.
      #
      # * `offsets`, `times`: an Integer for each record, in order. -1: the record failed, its
      #   report is missing, or librdkafka does not know it (an idempotent producer's retry).
      # * `code`: 0, or librdkafka's error of the first record that failed.
      # * `failed`: number of records that failed, or for which the queue was full: they were not
      #   written, as far as librdkafka knows.
      # * `missing`: number of records without a report in time: they may have been written.
      # @private
      Delivery = Struct.new(:offsets, :times, :code, :failed, :missing) do
        # @param counts [Array<Integer>] the records of each batch
        # @return [Array<Array(Array<Integer>, Array<Integer>)>] the offsets and times of each batch
        def split(counts)
          first = 0
          counts.map { |count| [offsets[first, count], times[first, count]].tap { first += count } }
        end
      end
    end
  end
end
