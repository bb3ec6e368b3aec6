# frozen_string_literal: true

module Godwit
  module Perf
    # What {Perf.throughput} measured at the receiver. Frozen.
    #
    # @attr [String] endpoint of the server
    # @attr [Integer] size bytes of a message
    # @attr [Integer] sent messages, without those of the warm-up
    # @attr [Float] seconds at the receiver, from the end of the warm-up to the last message
    # @attr [Float] connect_seconds that connecting took
    # @attr [Integer] warmup messages of the warm-up
    # @attr [Integer] received messages that came, each once
    # @attr [Integer] lost messages that did not come
    # @attr [Integer] duplicated messages that came again
    # @attr [Integer] out_of_order messages that came after a later one
    # @attr [Integer] foreign messages that the sender did not send
    # @attr [Integer] gc runs of the sender's garbage collector
    Throughput = Struct.new(:endpoint, :size, :sent, :seconds, :connect_seconds, :warmup, :received,
      :lost, :duplicated, :out_of_order, :foreign, :gc, keyword_init: true) do
      # @return [Float] messages a second
      def rate = received / seconds
      # @return [Float] megabytes (1,000,000 bytes) a second
      def megabytes = rate * size / 1e6

      include OneLine

      private

      def summary
        format("%s %d B: %d of %d messages, %.0f a second", endpoint, size, received, sent, rate)
      end
    end

    # Sends numbered messages to a {Receiver} of the server.
    class ThroughputMeasurement
      BATCH = 256 # messages between two readings of the clock

      def initialize(link, size, time, count, batch, zero_copy)
        @link = link
        @size = size
        @time = time
        @count = count
        @batch = batch
        @zero_copy = zero_copy
        @begun = 0
      end

      def run
        receiver = @link.command({"do" => "receive", "size" => @size})
        @id = receiver["id"]
        @sequence = Sequence.new(@size)
        @push, connected = @link.connect(PUSH, reachable(receiver["endpoint"]),
          send_timeout: @link.send_timeout, send_hwm: @sequence.hwm,
          **(@zero_copy ? {copy_threshold: 0} : {}))
        warmup = send_messages(Link::WARM_UP, @count && Link::WARM_UP_MESSAGES)
        collections = GC.count
        sent = measured
        found = @link.result(standstill) { result }
        Throughput.new(endpoint: @link.endpoint, size: @size, sent: sent, warmup: warmup,
          connect_seconds: connected, gc: GC.count - collections,
          **@link.figures(found, [:seconds, *SequenceCheck::COUNTS])).freeze
      ensure
        @push&.close
        @link.close
      end

      private

      # The host of the receiver's endpoint may be a wildcard: the link's host replaces it.
      def reachable(endpoint)
        own = @link.endpoint
        unless own.start_with?("tcp:")
          scheme = own[/\A\w+:/]
          return endpoint if endpoint.is_a?(String) && endpoint.start_with?(scheme) &&
            Printable.text(endpoint) == endpoint
          raise @link.malformed
        end
        port = endpoint.to_s[/:(\d+)\z/, 1].to_i
        raise @link.malformed unless port.between?(1, 65_535)
        own.sub(/:\d+\z/, ":#{port}")
      end

      def measured
        mark("mark" => Receiver::START)
        send_messages(@time, @count).tap { |sent| mark("mark" => Receiver::FINISH, "sent" => sent) }
      end

      def mark(values) = patiently { @push.send(Server.command(values)) }

      # @param spent [Numeric] seconds of the time-out that a send has already used
      def result(spent = 0)
        @link.command({"do" => "result", "id" => @id}, timeout: @link.timeout - spent)
      rescue TimeoutError
        raise @link.lost(nil, ", and its figures with it"), cause: nil
      end

      # The limit of the wait for a result. It is longer than the SILENCE after which the server's
      # receiver ends.
      def standstill = Standstill.new(@link, @link.patience, @begun)

      # Repeats a send that timed out while the server still answers: the link may just be slow.
      def patiently
        limit = standstill
        begin
          yield
        rescue TimeoutError
          answer = result(@link.send_timeout)
          limit.check(answer["taken"])
          retry if answer["ended"] == false
          raise StateError.new("#{@link.endpoint} stopped receiving before the last message",
            endpoint: @link.endpoint)
        end
      end

      def send_messages(time, count)
        finish = Timeout.now + time unless count
        sent = 0
        while count ? sent < count : Timeout.now < finish
          most = @batch || [BATCH, @sequence.hwm].min
          most = [count - sent, most].min if count
          @begun += most
          @batch ? send_batch(sent, most) : send_each(sent, most)
          sent += most
        end
        sent
      end

      def send_each(from, count)
        messages, mask = @sequence.messages, @sequence.mask
        sent = 0
        patiently do
          while sent < count
            @push.send(messages[(from + sent) & mask])
            sent += 1
          end
        end
      end

      def send_batch(from, count)
        messages = @sequence.messages
        batch = messages[from & @sequence.mask, count]
        batch += messages.first(count - batch.size) while batch.size < count
        patiently do
          @push.send_many(batch)
        rescue TimeoutError => error
          batch = batch.drop(error.sent.to_i)
          raise
        end
      end
    end
    private_constant :ThroughputMeasurement
  end
end
