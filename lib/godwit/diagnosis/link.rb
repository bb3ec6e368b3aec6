# frozen_string_literal: true

module Godwit
  class Diagnosis
    # Reduces the events of one endpoint to its state. An endpoint of `connect` has one connection
    # at a time; one of `bind` may have several, and the Link stores their latest failure.
    class Link
      FAILED = %i[
        handshake_failed_no_detail handshake_failed_protocol handshake_failed_auth
      ].freeze

      attr_reader :endpoint
      # @return [Symbol, nil] :refused, :no_address, :no_answer, :types, or an event of a failed
      #   handshake; nil: none is known
      attr_reader :failure
      attr_reader :event
      # @return [Float, nil] times of the failure, the handshake's success, the peer's departure
      attr_reader :failed_at, :since, :lost

      def initialize(endpoint, bound)
        @endpoint = endpoint
        @bound = bound
        @phase = :new
      end

      def bound? = @bound

      # @return [Boolean] whether an event reported a connection, or an attempt to connect
      def heard? = @phase != :new

      # @return [Boolean] whether the peer's greeting can explain the failure better than the event
      def unexplained?
        !@bound && (@failure == :types || @event&.protocol_error == :zmtp_mechanism_mismatch)
      end

      # @return [Symbol] :handshake while libzmq waits for the peer's handshake
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

      # When the socket types do not fit, libzmq reports only that the connection has ended.
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

      # If no event reported an attempt to connect, libzmq found no address to connect to.
      def retried(event, now)
        unless @opened
          fail_with((@tried || @phase == :new && literal?) ? :refused : :no_address, event, now)
        end
        @tried = @opened = false
        @phase = :retrying
      end

      # Whether the endpoint needs no DNS: then libzmq has tried to connect, even without an event.
      def literal? = !@endpoint.start_with?("tcp:", "ws") || OpenConnections.literal?(@endpoint)

      def fail_with(failure, event, now)
        @failure = failure
        @event = event
        @failed_at = now
      end
    end
  end
end
