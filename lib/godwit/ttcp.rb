# frozen_string_literal: true

require "socket"
require_relative "../godwit"

module Godwit
  # C ttcp in Ruby: sends data to another host over TCP, UDP or ZeroMQ. Sender and receiver measure
  # the throughput. Either may be a C ttcp, or, over TCP, any program, such as `nc`.
  #
  #   receiver = Godwit::TTCP::Receiver.new(port: 5001)  # is bound now
  #   receiver.run.rate                                  # => 1.9e9, in bytes a second
  #   Godwit::TTCP.transmit("host1", length: 65_536)     # on the other host
  #
  # **Threads**: each call measures by itself. The processor's time and the other figures of
  # {Usage} are those of the whole process.
  module TTCP
    # The default port of C ttcp.
    PORT = 5001
    # The default size of a buffer of C ttcp, in bytes.
    LENGTH = 8192
    # The default number of buffers that C ttcp sends in a run.
    COUNT = 2048
    # Seconds without a datagram that end a run over UDP.
    SILENCE = 5
    # Seconds to wait for a connection of ZeroMQ.
    TIMEOUT = 5
    # The shortest duration in seconds: as in C ttcp, a shorter run counts as this long.
    SHORTEST = 0.001

    # What a sender or a receiver measured. Frozen.
    #
    # @attr [Integer] bytes of data, sent or received
    # @attr [Float] seconds that the run took
    # @attr [Integer] calls reads or writes of the network
    # @attr [Usage] usage of the process during the run
    # @attr [Integer, nil] buffer_address of the buffer in memory; nil where Ruby does not tell it
    # @attr [Exception, nil] error what ended the run early: the peer departed, or no datagram came
    Result = Struct.new(:bytes, :seconds, :calls, :usage, :buffer_address, :error,
      keyword_init: true) do
      # @return [Float] bytes a second
      def rate = bytes / [seconds, SHORTEST].max
      # @return [Boolean] whether the run came to its end
      def complete? = error.nil?
    end

    module_function

    # Sends data, and waits until all is sent.
    # @param host [String] name or address of the receiver
    # @param options [Hash] as {Transmitter#initialize}
    # @return [Result]
    # @raise [SystemCallError, SocketError, TimeoutError, ArgumentValueError]
    def transmit(host, **options) = Transmitter.new(host, **options).run

    # Waits for one sender, and receives until its end.
    # @param options [Hash] as {Receiver#initialize}
    # @return [Result]
    # @raise [SystemCallError, ArgumentValueError]
    def receive(**options) = Receiver.new(**options).run
  end
end

%w[usage link tcp_link udp_link zmq_link measurement receiver transmitter].each do |name|
  require_relative "ttcp/#{name}"
end
