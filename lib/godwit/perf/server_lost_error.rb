# frozen_string_literal: true

module Godwit
  module Perf
    # The server or its connection ended during a measurement.
    class ServerLostError < TimeoutError
      # Ruby's Errno classes match every error of the same errno; this class only its own instances.
      # @param error [Object]
      # @return [Boolean]
      def self.===(error) = error.is_a?(self)

      # @return [Latency, Load, nil] what was measured before; nil: the server had the figures
      attr_reader :result

      # @param message [String, nil]
      # @param result [Latency, Load, nil]
      # @param options [Hash] as {Error#initialize}
      def initialize(message = nil, result: nil, **options)
        @result = result
        super(message, **options)
      end
    end
  end
end
