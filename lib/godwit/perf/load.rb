# frozen_string_literal: true

module Godwit
  module Perf
    # What {Perf.load} measured. Frozen.
    #
    # @attr [String] endpoint of the server
    # @attr [Integer] size bytes of a message
    # @attr [Float] requested_rate messages a second
    # @attr [Float] achieved_rate replies a second, from the scheduled time of the first message
    #   to the last reply, less the shortest round trip
    # @attr [Float] seconds of the measurement, without connecting and warm-up
    # @attr [Float] connect_seconds that connecting took
    # @attr [Integer] warmup messages of the warm-up
    # @attr [Integer] sent messages, without those of the warm-up
    # @attr [Histogram] intended times from the scheduled time of a message to its reply
    # @attr [Histogram] actual times from the send of a message to its reply
    # @attr [Integer] timeouts messages without a reply in time
    # @attr [Integer] gc runs of the garbage collector
    Load = Struct.new(:endpoint, :size, :requested_rate, :achieved_rate, :seconds,
      :connect_seconds, :warmup, :sent, :intended, :actual, :timeouts, :gc, keyword_init: true) do
      # @return [Boolean] whether the link carried at least 0.99 of the requested rate
      def achieved? = achieved_rate >= 0.99 * requested_rate

      include OneLine

      private

      def summary
        format("%s %d B: %.0f of %.0f messages a second, intended %s", endpoint, size,
          achieved_rate, requested_rate, trips(intended))
      end
    end

    # An open loop: one thread sends messages at their scheduled times, even if earlier messages
    # have no replies yet. Another thread receives the replies.
    class LoadMeasurement
      BATCH = 256
      NANOSECONDS = 1_000_000_000

      def initialize(link, size, rate, time, count)
        @link = link
        @sequence = Sequence.new(size)
        @size = size
        @rate = rate
        @warmup = count ? Link::WARM_UP_MESSAGES : (rate * Link::WARM_UP).ceil
        @count = count || [(rate * time).round, 1].max
        @lock = Mutex.new
      end

      def run
        connected = connect
        measure(@warmup)
        raise @link.no_answer if @intended.count.zero?
        connect if @remaining.positive? # a new socket: late replies to the warm-up must not count
        collections = GC.count
        alive = true
        measure(@count) { alive = @link.alive?(@link.timeout - @link.send_timeout) }
        found = Load.new(endpoint: @link.endpoint, size: @size, requested_rate: @rate.to_f,
          achieved_rate: achieved_rate, seconds: @seconds, connect_seconds: connected,
          warmup: @warmup, sent: @count, intended: @intended.freeze, actual: @actual.freeze,
          timeouts: @count - @intended.count, gc: GC.count - collections).freeze
        (alive || @remaining.zero?) ? found : raise(@link.lost(found))
      ensure
        @dealer&.close
      end

      private

      def connect
        @dealer&.close
        # With a high-water mark the sender would wait while the server is slow.
        @dealer, seconds = @link.connect(DEALER, send_hwm: 0, recv_hwm: 0)
        seconds
      end

      # Subtracts the shortest round trip: a constant delay of the link does not lower the rate.
      def achieved_rate
        return 0.0 if @intended.count.zero?
        late = (@last - @end) / NANOSECONDS.to_f - @intended.min
        @intended.count / (@seconds + [late, 0].max)
      end

      # Sends `count` messages, and waits for all replies, at most the time-out after the last
      # message. If replies are missing after half of that wait, yields once.
      def measure(count)
        @intended, @actual = Histogram.new, Histogram.new
        @waiting = Hash.new { |waiting, number| waiting[number] = [] }
        @remaining = count
        start = now
        @end = start + due(count)
        @seconds = (@end - start) / NANOSECONDS.to_f
        receiver = Worker.new { receive_all }
        receiver.report_on_exception = false
        count.times { |number| send_at(start + due(number), number & @sequence.mask) }
        yield if block_given? && !receiver.join(@link.send_timeout)
        receiver.join
      ensure
        receiver&.kill
      end

      def due(number) = (number * NANOSECONDS / @rate).round

      def send_at(intended, number)
        early = intended - now
        sleep(early / NANOSECONDS.to_f) if early.positive?
        @lock.synchronize { @waiting[number] << [intended, now] }
        @dealer.send(["", @sequence.messages[number]])
      end

      def receive_all
        last = @end + (@link.timeout * NANOSECONDS).round
        while @remaining.positive? && (wait = last - now).positive?
          replies = @dealer.recv_many(BATCH, timeout: wait.fdiv(NANOSECONDS), exception: false)
          came = now
          replies&.each { |_, body| count_reply(body, came) }
        end
      end

      def count_reply(body, came)
        number = @sequence.number(body)
        raise AnswerError, "#{@link.endpoint} is no echo: another message came" unless number
        intended, actual = @lock.synchronize { @waiting[number].shift }
        return unless intended
        @remaining -= 1
        @last = came
        @intended.record_ns(came - intended)
        @actual.record_ns(came - actual)
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    end
    private_constant :LoadMeasurement
  end
end
