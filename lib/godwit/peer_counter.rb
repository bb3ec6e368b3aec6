# frozen_string_literal: true

module Godwit
  # Counts the peers of a socket from the events of libzmq's monitor. ext/godwit/peers.c has the
  # same algorithm for the extension, which reads the events during its own calls, where
  # no Ruby code may run. peers.c says what the events do not tell, and what the algorithm guesses.
  # @private
  class PeerCounter
    KINDS = {
      connected: :opened, accepted: :opened, disconnected: :closed,
      handshake_succeeded: :succeeded, handshake_failed_no_detail: :failed,
      handshake_failed_protocol: :failed, handshake_failed_auth: :failed
    }.freeze

    # The counts of succeeded and of failed handshakes when a connection was opened; nil: unknown.
    Connection = Struct.new(:successes, :failures)
    private_constant :Connection

    # @return [Integer] open connections; those of them whose handshake has succeeded
    attr_reader :open, :established

    # @param io_threads [Integer] of the context; with several threads libzmq may report a
    #   connection's opening after its handshake or its end
    def initialize(io_threads)
      @unordered = io_threads != 1
      @known = Hash.new { |known, descriptor| known[descriptor] = [] }
      @gone = Hash.new(0)
      @open = @established = @successes = @failures = @failing = @doubtful = 0
    end

    def record(name, descriptor)
      case KINDS[name]
      when :opened then opened(descriptor)
      when :closed then closed(descriptor)
      when :failed
        @failing += 1
        @failures += 1
      when :succeeded
        @established += 1
        @successes += 1
      end
    end

    private

    def opened(descriptor)
      @open += 1
      return @gone[descriptor] -= 1 if @gone[descriptor] > 0
      seen = @unordered ? [] : [@successes, @failures]
      @known[descriptor] << Connection.new(*seen)
    end

    def closed(descriptor)
      @open -= 1
      connection = @known[descriptor].pop
      @known.delete(descriptor) if @known[descriptor].empty?
      @gone[descriptor] += 1 unless connection
      peer = connection&.successes != @successes
      failed = connection&.failures != @failures
      if failed && @failing > 0
        @failing -= 1
        @doubtful += 1 if peer
      elsif peer
        @established -= 1
      elsif failed && @doubtful > 0
        @doubtful -= 1
        @established -= 1
      end
      @established = @established.clamp(0, @unordered ? nil : [@open, 0].max)
    end
  end
end
