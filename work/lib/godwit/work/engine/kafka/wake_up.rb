# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Wakes a runner: librdkafka writes to its pipe. It also ends the runner's waits for brokers.
      # @private
      class WakeUp < PipeWakeUp
        # @param place [String] of this runner
        # @yield when the runner's time is over
        def initialize(place, &abandon)
          super(place)
          @abandon = abandon
          @abandoned = false
        end

        # @return [Boolean] whether no call of the runner may wait
        def abandoned? = @abandoned

        # (see Work::WakeUp#abandon)
        def abandon
          @abandoned = true
          @abandon.call
          nil
        end
      end
    end
  end
end
