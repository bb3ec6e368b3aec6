# frozen_string_literal: true

module Godwit
  class Proxy
    # The messages that went through one socket of a proxy, and the bytes of their frames.
    #
    # @!attribute [r] received
    #   @return [Integer] messages received from it
    # @!attribute [r] received_bytes
    #   @return [Integer]
    # @!attribute [r] sent
    #   @return [Integer] messages sent to it; a ROUTER, PUB or XPUB may have dropped some
    # @!attribute [r] sent_bytes
    #   @return [Integer]
    Traffic = Struct.new(:received, :received_bytes, :sent, :sent_bytes)

    # The traffic of a proxy; frozen.
    #
    # @!attribute [r] frontend
    #   @return [Traffic]
    # @!attribute [r] backend
    #   @return [Traffic] the same as frontend where both are one socket
    # @!attribute [r] capture
    #   @return [Traffic] the copies; all 0 without a capture socket
    # @!attribute [r] dropped
    #   @return [Integer] messages whose peer is gone: a ROUTER with `mandatory: true`
    Statistics = Struct.new(:frontend, :backend, :capture, :dropped)
  end
end
