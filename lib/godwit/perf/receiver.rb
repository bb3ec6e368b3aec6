# frozen_string_literal: true

module Godwit
  module Perf
    # The receiver of a throughput measurement: a PULL and its thread. The sender sends a mark, a
    # message of two frames, after the warm-up and another after the measurement.
    class Receiver
      BATCH = 256
      START = "start"
      FINISH = "finish"
      SILENCE = Link::SILENCE # seconds without a message after which a receiver ends

      def initialize(endpoint, size, options)
        @sequence = Sequence.new(size)
        @received = 0
        @pull = PULL.bind(endpoint, recv_hwm: @sequence.hwm, **options)
        @thread = Worker.new { run }
        @thread.name = "godwit perf receiver"
        @thread.report_on_exception = false
      end

      # @return [Integer] messages received until now, with those of the warm-up and the marks
      attr_reader :received

      def last_endpoint = @pull.last_endpoint
      def ended? = !@thread.alive?

      def close
        @pull.close
        @thread.join
      end

      def result
        return {"error" => "the measurement did not end: #{SILENCE} s of silence"} unless @finished
        {"seconds" => (@finished - @started) / 1e9, **@check.to_h}
      end

      private

      def run
        until @finished
          batch = @pull.recv_many(BATCH, timeout: SILENCE, exception: false) or break
          @received += batch.size
          @check ? batch.each { |message| count(message) } : skip(batch)
        end
      rescue ClosedError, ContextTerminatedError
        nil
      ensure
        @pull.close
      end

      # Skips the messages of the warm-up, up to the sender's first mark.
      def skip(batch)
        while (message = batch.shift)
          next unless message.is_a?(Array)
          start if Server.values(message)&.fetch("mark", nil) == START
          batch.each { |one| count(one) } if @check
          break if @check
        end
      end

      def start
        @started = now
        @check = SequenceCheck.new(@sequence)
      end

      def count(message)
        return @check.count(message) if message.is_a?(String)
        values = Server.values(message)
        return @check.count(message) unless values && values["mark"] == FINISH &&
          values["sent"].is_a?(Integer)
        @check.finish(values["sent"])
        @finished = now
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    end
    private_constant :Receiver
  end
end
