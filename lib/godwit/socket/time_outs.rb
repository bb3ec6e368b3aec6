# frozen_string_literal: true

module Godwit
  class Socket
    # Finds out why a wait ends in a time-out. A backend calls {#_diagnose} when a wait has lasted
    # {Constants::SLOW_WAIT} ms: repeatedly, or once if the wait has no time-out. After a wait that
    # succeeded, the backend calls {#_end_diagnosis} in the next call on the socket.
    # @private
    module TimeOuts
      # @private
      # @return [Diagnosis::Finding, nil] why no message is received or sent; nil: unknown
      def finding(operation)
        diagnosis = @diagnosis or return
        diagnosis.update.finding(operation)
      rescue Error
        nil # the socket was closed meanwhile
      ensure
        diagnosis&.end_probes
      end

      # Finds the reason as {#finding} does, for the wait of an object such as Logger::Reader. This
      # diagnosis opens no probes.
      def finding_now
        diagnosis = Diagnosis.new(self, probes: false)
        diagnosis.finding
      rescue Error
        nil
      ensure
        diagnosis&.close
      end

      private

      # @param may_time_out [Boolean] whether the wait has a time-out
      # @return [Boolean] whether the backend has to call {#_end_diagnosis}
      def _diagnose(may_time_out)
        return false if frozen?
        warn_of_refusals
        return false unless may_time_out
        (@diagnosis ||= Diagnosis.new(self)).update
        true
      rescue Error
        false # no descriptor is free, or the socket was closed
      end

      def _end_diagnosis
        diagnosis = @diagnosis
        @diagnosis = nil
        diagnosis&.close
      end

      def warn_of_refusals
        return if @guarded || !Godwit.warn_refused || !Diagnosis::Refusals.guards?(self)
        @guarded = true
        Diagnosis::Refusals.start(self)
      end
    end
  end
end
