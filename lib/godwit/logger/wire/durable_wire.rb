# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # The messages between a durable writer (DEALER) and its receiver (ROUTER): a verb, the writer's
    # id (16 bytes), and numbers (u64, big-endian) unless noted.
    #
    #   HELLO   id seq version   writer: it has acknowledgements for all records up to seq
    #   DATA    id prev entries  writer: entries as in {SegmentedLog}, and the seq before the first
    #   WELCOME id seq           receiver, to HELLO: its file has all records up to seq
    #   ACK     id seq           receiver: its file has all records up to seq
    #   WHAT    id seq           receiver wants a HELLO: the writer is unknown, or DATA is missing
    #   TROUBLE id text          receiver: it cannot write its file
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
      def value(bytes) = (bytes&.bytesize == 8) ? bytes.unpack1("Q>") : nil
    end
    private_constant :Wire
  end
end
