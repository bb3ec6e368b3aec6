# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Counts messages and publishes them, for a {ServingThread}. A {Proxy} does the same in C.
    class Publisher
      LARGE = 4_096 # least bytes of a frame that `out_bytes:` counts, as in a proxy

      # @param socket [PUB] gets no messages if it has no endpoint
      # @param most [Integer] bytes of large frames that may wait for all readers together
      def initialize(socket, statistics, most)
        @socket = socket
        @bound = socket.endpoints.any?
        @statistics = statistics
        @most = most
        @waiting = [] # each message's Tracker, and the bytes of the message's large frames
        @waiting_bytes = @sent = @skipped = 0
        @socket.copy_threshold = LARGE # only frames that are sent in place have a Tracker
      end

      attr_reader :sent, :skipped

      # @param record [Record, nil] nil when the frames are neither a record nor a line
      def count(frames, record) = @statistics.record(frames, record&.header)

      def publish(messages)
        return @sent += messages.size unless @bound
        small = []
        messages.each do |frames|
          bytes = large_bytes(frames)
          next small << frames if bytes.zero?
          send_small(small)
          small = []
          send_large(frames, bytes)
        end
        send_small(small)
      end

      private

      def large_bytes(frames) = frames.sum { |frame| (frame.bytesize < LARGE) ? 0 : frame.bytesize }

      def send_small(messages)
        @socket.send_many(messages) unless messages.empty?
        @sent += messages.size
      end

      def send_large(frames, bytes)
        release if @waiting_bytes + bytes > @most
        return @skipped += 1 if @waiting_bytes + bytes > @most
        @waiting << [@socket.send(frames.each(&:freeze), track: true), bytes]
        @waiting_bytes += bytes
        @sent += 1
      end

      def release
        @waiting.reject! { |tracker, bytes| tracker.done? && (@waiting_bytes -= bytes) }
      end
    end
    private_constant :Publisher
  end
end
