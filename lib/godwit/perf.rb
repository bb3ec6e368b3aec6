# frozen_string_literal: true

require_relative "../godwit"

module Godwit
  # Measures the latency, the throughput and the open-loop load of a link. The other side is a
  # {Server} (`godwit perf serve`); latency and load need only a REP that echoes.
  #
  #   latency = Godwit::Perf.latency("tcp://host:7900", size: 100, time: 10)
  #   latency.histogram.percentile(99) # => 8.24e-05, in seconds
  #
  # Every latency is a round-trip time. All times come from the monotonic clock. The figures exclude
  # connecting and the warm-up, which lasts 1 s, or 1,000 messages with `count:`. No message is sent
  # again. Each method returns at the end of the measurement, or raises an exception before.
  # When the server dies, {ServerLostError#result} is what was measured before.
  #
  # **Threads**: several threads may measure at a time. Each measurement has its own sockets.
  module Perf
    autoload :Agent, "godwit/perf/agent"
    autoload :Exchange, "godwit/perf/exchange"
    autoload :Histogram, "godwit/perf/histogram"
    autoload :Latency, "godwit/perf/latency"
    autoload :LatencyMeasurement, "godwit/perf/latency"
    autoload :Load, "godwit/perf/load"
    autoload :LoadMeasurement, "godwit/perf/load"
    autoload :MatrixMeasurement, "godwit/perf/matrix"
    autoload :MatrixRow, "godwit/perf/matrix"
    autoload :OwnServer, "godwit/perf/own_server"
    autoload :Receiver, "godwit/perf/receiver"
    autoload :Server, "godwit/perf/server"
    autoload :ServerLostError, "godwit/perf/server_lost_error"
    autoload :Throughput, "godwit/perf/throughput"
    autoload :ThroughputMeasurement, "godwit/perf/throughput"
    private_constant :Agent, :LatencyMeasurement, :LoadMeasurement, :MatrixMeasurement,
      :OwnServer, :Receiver, :ThroughputMeasurement

    # Bytes of a message, by default.
    SIZE = 100
    # Seconds that a measurement takes, by default.
    TIME = 10
    # Seconds to wait for a connection or an answer.
    TIMEOUT = 5
    # Bytes of a message of {.matrix}, by default.
    MATRIX_SIZE = 5
    # Round trips between two hosts of {.matrix}, by default.
    MATRIX_COUNT = 5_000
    # The most bytes of a message.
    MAX_SIZE = 64 << 20

    class << self
      # Measures round trips, one after the other: the client is a REQ.
      # @param endpoint [String, nil] of the server; nil: starts a server on loopback
      # @param size [Integer] bytes of a message, 0 to {MAX_SIZE}
      # @param time [Numeric] seconds to measure
      # @param count [Integer, nil] round trips to measure, instead of a time
      # @param timeout [Numeric] seconds to wait for a connection or a reply; a request without a
      #   reply counts in {Latency#timeouts}
      # @param options [Hash] socket options, as {Socket#initialize} (`curve:`, `context:`…)
      # @return [Latency]
      # @raise [TimeoutError] when the server gives no answer during connecting or warm-up
      # @raise [ServerLostError] when the client cannot connect again after a time-out, or, with
      #   `count:`, gets no reply for 30 s plus the time-out
      # @raise [AnswerError] when a reply has another size
      # @raise [ArgumentValueError, ArgumentTypeError]
      def latency(endpoint = nil, size: SIZE, time: TIME, count: nil, timeout: TIMEOUT, **options)
        check_size(:latency, size)
        check_extent(:latency, time, count)
        measure(:latency, endpoint, timeout, options) do |link|
          LatencyMeasurement.new(link, size, time, count).run
        end
      end

      # Sends messages from a PUSH to a PULL of the server. The server measures the time and checks
      # the number in each message. Messages of less than 2 bytes have few numbers, or none: then a
      # message lost in the middle may count as one lost at the end.
      # @param endpoint [String, nil] of the server; nil: starts a server on loopback
      # @param size [Integer] bytes of a message, 0 to {MAX_SIZE}
      # @param time [Numeric] seconds to send
      # @param count [Integer, nil] messages to send, instead of a time
      # @param batch [Integer, nil] messages of a `send_many`; nil: one `send` for each
      # @param zero_copy [Boolean] whether Godwit sends the Strings in place
      # @param timeout [Numeric] seconds to wait for a connection or an answer of the server
      # @param options [Hash] socket options, as {Socket#initialize}
      # @return [Throughput]
      # @raise [TimeoutError] when the server gives no answer, or receives no message for 30 s plus
      #   the time-out; {ServerLostError} in mid-measurement
      # @raise [AnswerError] when the server is no {Server}
      # @raise [StateError] when the server could not measure
      # @raise [ArgumentValueError, ArgumentTypeError]
      def throughput(endpoint = nil, size: SIZE, time: TIME, count: nil, batch: nil,
        zero_copy: false, timeout: TIMEOUT, **options)
        check_size(:throughput, size)
        check_extent(:throughput, time, count)
        Errors.check_positive(:throughput, "batch:", "messages, 1 or more", batch) if batch
        measure(:throughput, endpoint, timeout, options) do |link|
          ThroughputMeasurement.new(link, size, time, count, batch, zero_copy).run
        end
      end

      # Sends messages at a rate from a DEALER: each at its scheduled time, even if earlier messages
      # have no replies yet. A late message is sent at once. If the server stalls, {Load#intended}
      # includes the delay of all messages that were scheduled meanwhile.
      # @param endpoint [String, nil] of the server; nil: starts a server on loopback
      # @param rate [Numeric] messages a second
      # @param size [Integer] bytes of a message, 0 to {MAX_SIZE}
      # @param time [Numeric] seconds to send
      # @param count [Integer, nil] messages to send, instead of a time
      # @param timeout [Numeric] seconds to wait for a connection, and after the end for replies
      # @param options [Hash] socket options, as {Socket#initialize}
      # @return [Load]
      # @raise [TimeoutError] when the server gives no answer during connecting or warm-up
      # @raise [ServerLostError] when replies are missing at the end, and no new connection succeeds
      # @raise [AnswerError] when a reply is another message
      # @raise [ArgumentValueError, ArgumentTypeError]
      def load(endpoint = nil, rate:, size: SIZE, time: TIME, count: nil, timeout: TIMEOUT,
        **options)
        check_size(:load, size)
        check_extent(:load, time, count)
        check_above_zero(:load, "rate:", "messages a second", rate)
        measure(:load, endpoint, timeout, options) do |link|
          LoadMeasurement.new(link, size, rate, time, count).run
        end
      end

      # Measures latencies between all pairs of hosts, one pair after the other: each host runs a
      # {Server} with `agent: true`, sends requests to each host, itself included, and measures the
      # times. An agent does one run at a time, and a row may take 60 s. During the run each agent
      # echoes on a port of its own; with `curve:` a key made for this run alone may connect.
      # @param hosts [Hash{String => String}] tcp endpoints by name, as all hosts reach them
      # @param size [Integer] bytes of a message, 0 to {MAX_SIZE}
      # @param count [Integer] round trips of a pair
      # @param timeout [Numeric] seconds to wait for a connection, a reply, or an agent's answer
      # @param options [Hash] socket options, as {Socket#initialize}; all agents have the key of
      #   `server_key:`
      # @yieldparam row [MatrixRow] as soon as it is measured
      # @return [Array<MatrixRow>] a row for each pair. A host without an answer has one row with
      #   the reason, and no pairs
      # @raise [ArgumentValueError, ArgumentTypeError]
      def matrix(hosts, size: MATRIX_SIZE, count: MATRIX_COUNT, timeout: TIMEOUT, **options, &block)
        check_size(:matrix, size)
        check_extent(:matrix, nil, count)
        check_above_zero(:matrix, "timeout:", "seconds", timeout)
        hosts = check_hosts(hosts)
        MatrixMeasurement.new(hosts, size, count, timeout, options).run(&block)
      end

      # @private
      def check_size(operation, size)
        return if size.is_a?(Integer) && size.between?(0, MAX_SIZE)
        raise Errors.bad_value(operation, "size:", "bytes, 0 to #{MAX_SIZE}", size)
      end

      # @private
      def check_extent(operation, time, count)
        return check_above_zero(operation, "time:", "seconds", time) if time && !count
        Errors.check_positive(operation, "count:", "a number, 1 or more", count)
      end

      # @private
      def check_above_zero(operation, name, unit, value)
        return if value.is_a?(Numeric) && value.real? && value.positive? && value.to_f.finite?
        raise Errors.bad_value(operation, name, "#{unit}, more than 0", value)
      end

      private

      def check_hosts(hosts)
        unless hosts.is_a?(Hash) && hosts.any?
          raise Errors.bad_value(:matrix, "hosts", "endpoints by name, such as " \
            "{\"web1\" => \"tcp://10.0.0.1:7900\"}", hosts)
        end
        hosts.to_h do |name, endpoint|
          Endpoint.check(endpoint, :connect)
          next [name.to_s, endpoint] if Endpoint.port(endpoint)
          raise Errors.bad_value(:matrix, "hosts", "tcp endpoints with a port", endpoint)
        end
      end

      def measure(operation, endpoint, timeout, options, &block)
        check_above_zero(operation, "timeout:", "seconds", timeout)
        unless endpoint
          return OwnServer.run { |own| measure(operation, own, timeout, options, &block) }
        end
        link = Link.new(endpoint, timeout, options)
        yield link
      ensure
        link&.close
      end
    end
  end
end

%w[one_line link sequence].each { |name| require_relative "perf/#{name}" }
