# frozen_string_literal: true

module Godwit
  class Socket
    # Finds out why a wait ends in a time-out. A backend calls {#_look}, when a wait has lasted
    # {Constants::SLOW_WAIT} ms and at longer and longer intervals, and {#_stop_looking} at the
    # first call after a wait that got its message.
    # @private
    module TimeOuts
      # @private
      # @return [Diagnosis::Finding, nil] why nothing comes or goes; nil: nothing is known
      def finding(operation)
        diagnosis = @diagnosis or return
        diagnosis.update.finding(operation)
      rescue Error
        nil # the socket was closed meanwhile
      ensure
        diagnosis&.end_probes
      end

      private

      # @return [Boolean] whether the backend has to call {#_stop_looking}
      def _look
        return true if @diagnosis&.update
        return false if @starts_to_look
        @starts_to_look = true
        @diagnosis = Diagnosis.new(self)
        true
      rescue Error
        false # no descriptor is left, or the socket was closed
      ensure
        @starts_to_look = false
      end

      def _stop_looking
        diagnosis = @diagnosis
        @diagnosis = nil
        diagnosis&.close
      end
    end
  end
end
