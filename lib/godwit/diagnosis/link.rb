# frozen_string_literal: true

module Godwit
  class Diagnosis
    # What the events of one endpoint tell. A connected endpoint has one connection at a time; of a
    # bound one the latest failure counts.
    class Link
      FAILED = %i[
        handshake_failed_no_detail handshake_failed_protocol handshake_failed_auth
      ].freeze
      private_constant :FAILED

      attr_reader :endpoint
      # @return [Symbol, nil] :refused, :no_address, :no_answer, :types, or an event of a failed
      #   handshake; nil: none is known
      attr_reader :failure
      # @return [Monitor::Event, nil] of the failure
      attr_reader :event
      # @return [Float, nil] when it failed; since when it is connected; when its peer left
      attr_reader :failed_at, :since, :lost

      def initialize(endpoint, bound)
        @endpoint = endpoint
        @bound = bound
        @phase = :new
      end

      def bound? = @bound

      # @return [Boolean] whether an event told about a connection, or about a try
      def heard? = @phase != :new

      # @return [Boolean] whether the peer's greeting tells more than libzmq's event
      def unexplained?
        !@bound && (@failure == :types || @event&.protocol_error == :zmtp_mechanism_mismatch)
      end

      # @return [Symbol, nil] :handshake while libzmq waits for the peer's part of it
      attr_reader :phase

      def record(event, now)
        case event.name
        when :connect_delayed, :closed then tried(now)
        when :connected, :accepted
          @phase = :handshake
          @opened = true
          @failure = nil if @failure == :no_answer
        when :handshake_succeeded then succeeded(now)
        when :disconnected then disconnected(event, now)
        when :connect_retried then retried(event, now)
        when *FAILED
          @phase = :failed
          @opened = true
          fail_with(event.name, event, now)
        end
      end

      private

      def tried(now)
        return if @bound
        @tried = true
        @phase = :trying unless %i[failed retrying].include?(@phase)
        fail_with(:no_answer, nil, now) if @failure.nil?
      end

      def succeeded(now)
        @phase = :established
        @since ||= now
        @failure = @event = @lost = nil
      end

      # libzmq closes the connection without an event when the types do not fit.
      def disconnected(event, now)
        fail_with(:types, event, now) if @phase == :handshake
        if %i[new established].include?(@phase)
          @lost = now
          @failure = nil
        end
        @since = nil
        @opened = true
        @phase = :lost
      end

      # Without an attempt to connect before it, libzmq had no address to connect to.
      def retried(event, now)
        unless @opened
          fail_with((@tried || @phase == :new && literal?) ? :refused : :no_address, event, now)
        end
        @tried = @opened = false
        @phase = :retrying
      end

      # The first event may follow an attempt that nothing reported.
      def literal? = !@endpoint.start_with?("tcp:", "ws") || OpenConnections.literal?(@endpoint)

      def fail_with(failure, event, now)
        @failure = failure
        @event = event
        @failed_at = now
      end
    end
  end
end
