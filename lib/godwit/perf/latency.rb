# frozen_string_literal: true

module Godwit
  module Perf
    # What {Perf.latency} measured. Frozen.
    #
    # @attr [String] endpoint of the server
    # @attr [Integer] size bytes of a message
    # @attr [Float] seconds of the measurement, without connecting and warm-up
    # @attr [Float] connect_seconds that connecting took
    # @attr [Integer] warmup round trips of the warm-up
    # @attr [Histogram] histogram of the round-trip times
    # @attr [Integer] timeouts requests without a reply in time; none was sent again
    # @attr [Integer] gc runs of the garbage collector
    Latency = Struct.new(:endpoint, :size, :seconds, :connect_seconds, :warmup, :histogram,
      :timeouts, :gc, keyword_init: true) do
      # @return [Integer] round trips
      def count = histogram.count
      # @return [Float] round trips a second
      def rate = count / seconds

      include OneLine

      private

      def summary = "#{endpoint} #{size} B: #{count} round trips, #{trips(histogram)}"
    end

    # Sends a request, waits for the reply, sends the next.
    class LatencyMeasurement
      def initialize(link, size, time, count)
        @link = link
        @payload = ("x" * size).freeze
        @time = time
        @count = count
      end

      def run
        @req, connected = @link.connect(REQ, recv_timeout: @link.timeout)
        warmup = warm_up
        @timeouts = @silent = 0
        histogram = Histogram.new
        collections = GC.count
        seconds = measure(histogram, @time, @count)
        found = Latency.new(endpoint: @link.endpoint, size: @payload.bytesize, seconds: seconds,
          connect_seconds: connected, warmup: warmup, histogram: histogram.freeze,
          timeouts: @timeouts, gc: GC.count - collections).freeze
        @lost ? raise(@link.lost(found)) : found
      ensure
        @req&.close
      end

      private

      def warm_up
        histogram = Histogram.new
        count = @count && Link::WARM_UP_MESSAGES
        measure(histogram, Link::WARM_UP, count) { raise @link.no_answer }
        histogram.count
      end

      # @param count [Integer, nil] round trips; nil: as many as fit into the time
      def measure(histogram, time, count, &no_reply)
        remaining = count || Float::INFINITY
        start = before = now
        finish = count ? Float::INFINITY : start + time * 1e9
        while remaining > 0 && before < finish
          if (after = round_trip(&no_reply))
            histogram.record_ns(after - before)
          else
            reconnect(histogram.count, count)
            break if @lost
          end
          before = now # the time of recording is no part of the next round trip
          remaining -= 1
        end
        (before - start) / 1e9
      end

      # @return [Integer, nil] the clock's time of the reply; nil: no reply within the time-out
      def round_trip
        @req.send(@payload)
        reply = @req.recv
        after = now
        return after if reply.is_a?(String) && reply.bytesize == @payload.bytesize
        raise AnswerError, "#{@link.endpoint} is no echo: it replied " \
          "#{[*reply].map(&:bytesize).join(" + ")} bytes to #{@payload.bytesize}"
      rescue TimeoutError
        yield if block_given?
      end

      # A REQ without its reply cannot send again: a new REQ replaces it. A measurement of a fixed
      # count has no time limit: it ends after `patience` seconds without a reply.
      def reconnect(replies, count)
        @timeouts += 1
        @silent = 0 if replies != @replies
        @replies = replies
        @silent += @link.timeout
        return @lost = true if count && @silent >= @link.patience
        @req.close
        @req, = @link.connect(REQ, recv_timeout: @link.timeout)
      rescue TimeoutError
        @lost = true
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    end
    private_constant :LatencyMeasurement
  end
end
