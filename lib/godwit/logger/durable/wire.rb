# frozen_string_literal: true

require "logger"

module Godwit
  class Logger < ::Logger
    # What a durable writer (DEALER) and its receiver (ROUTER) say to each other. Each message is a
    # verb, the writer's id (16 bytes), and a number (u64, big-endian) unless noted.
    #
    #   HELLO    id seq version   the writer: all up to seq has been acknowledged to it
    #   DATA id prev entries the writer: entries as in {SegmentedLog}; prev is the seq of the entry
    #   before the first WELCOME id seq the receiver, to HELLO: all up to seq is in its file; it
    #   wants what follows ACK id seq the receiver: all up to seq is in its file WHAT id seq the
    #   receiver: it does not know the writer, or DATA is missing before this; it wants a HELLO
    #   TROUBLE id text the receiver: it cannot write
    # @private
    module Wire
      VERSION = 1
      HELLO = "godwit-log-hello"
      DATA = "D"
      WELCOME = "godwit-log-welcome"
      ACK = "A"
      WHAT = "?"
      TROUBLE = "!"

      module_function

      def number(value) = [value].pack("Q>")

      # @return [Integer, nil]
      def value(bytes) = (bytes&.bytesize == 8) ? bytes.unpack1("Q>") : nil
    end
    private_constant :Wire
  end
end
