# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Wakes a runner: librdkafka writes to the pipe of this object. The object has the runner's
      # outputs, and ends the runner's waits for brokers.
      # @private
      class WakeUp < PipeWakeUp
        # @param path [String] names this runner
        def initialize(path, outputs)
          super(path)
          @outputs = outputs
          @abandoned = false
        end

        attr_reader :outputs

        # @return [Boolean] whether the runner's calls must not wait any more
        def abandoned? = @abandoned

        # (see Work::WakeUp#abandon)
        def abandon
          @abandoned = true
          @outputs.abandon
          nil
        end

        def close
          super
          @outputs.close
        end
      end
    end
  end
end
