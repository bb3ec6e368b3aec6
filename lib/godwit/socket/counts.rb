# frozen_string_literal: true

module Godwit
  class Socket
    # What {#stats} gives; frozen.
    #
    # @attr_reader [Integer] sent messages handed to libzmq, which may still drop them (a PUB does
    #   at its high-water mark). A retry of `request` counts again
    # @attr_reader [Integer] sent_bytes bytes of their frames
    # @attr_reader [Integer] received messages received from libzmq
    # @attr_reader [Integer] received_bytes bytes of their frames
    # @attr_reader [Integer, nil] peers peers that have done their handshake; nil: unknown
    # @attr_reader [Time, nil] last_activity time of the last message, to the second; nil: unknown
    Stats = Struct.new(:sent, :sent_bytes, :received, :received_bytes, :peers, :last_activity,
      keyword_init: true)

    # The counts of a socket's messages.
    module Counts
      # The messages that the methods of this socket sent and received since it was made. Messages
      # of a {Proxy} are in its {Proxy#statistics}. A socket itself drops no message.
      #
      # The messages are always counted. The time of the last message is stored from the first call
      # of `stats` or {Godwit.metrics} on, for all sockets of the process. The peers are known while
      # {Peers#wait_connected} counts them: `stats` opens no monitor.
      #
      # Any thread or fiber may call this method, also after {Socket#close}.
      # @return [Stats]
      # @raise [UnsupportedError] on the FFI backend, which does not count
      # @raise [ForkedError]
      def stats
        sent, sent_bytes, received, received_bytes, seconds = counters
        Stats.new(sent: sent, sent_bytes: sent_bytes, received: received,
          received_bytes: received_bytes, peers: known_peers,
          last_activity: seconds && Time.at(seconds)).freeze
      end

      private

      # Only the C extension has `_counters`; the FFI backend has none, since libzmq counts nothing.
      def counters
        return _counters if respond_to?(:_counters, true)
        raise Errors.of(UnsupportedError, :stats, "the FFI backend counts no messages: use the C " \
          "extension, or a Proxy, which has statistics on each backend")
      end
    end
  end
end
