# frozen_string_literal: true

module Godwit
  # Counts the peers of a socket from what libzmq's monitor tells; ext/godwit/peers.c is its twin.
  # libzmq does not say whose handshake succeeded or failed, only whose connection ended: that file
  # tells how this guesses, and what it cannot tell.
  # @private
  class PeerCounter
    # What was told of anybody by the time a connection was opened; nil: nobody knows.
    Connection = Struct.new(:successes, :failures)
    private_constant :Connection

    # @return [Integer] connections, and those of them whose handshake is done
    attr_reader :open, :established

    # @param unordered [Boolean] several I/O threads: a connection's opening may be told after what
    #   became of it
    def initialize(unordered: false)
      @unordered = unordered
      @known = {}
      @gone = Hash.new(0)
      @open = @established = @successes = @failures = @failing = @doubtful = 0
    end

    # @param kind [Symbol] :opened, :succeeded, :failed or :closed
    # @param descriptor [Integer, nil] of the connection that was opened or closed
    def note(kind, descriptor)
      case kind
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
      (@known[descriptor] ||= []) << (
        @unordered ? Connection.new : Connection.new(@successes, @failures)
      )
    end

    def closed(descriptor)
      @open -= 1
      connection = @known[descriptor]&.pop
      @known.delete(descriptor) if @known[descriptor] && @known[descriptor].empty?
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
