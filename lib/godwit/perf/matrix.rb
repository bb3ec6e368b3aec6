# frozen_string_literal: true

require "securerandom"

module Godwit
  module Perf
    # A row of {Perf.matrix}: the latency from one host to another, or why there is none. Frozen.
    #
    # @attr [String] source name of the host that sends the requests
    # @attr [String, nil] dest name of the host that replies; nil: the source itself failed
    # @attr [String, nil] connection "localhost", the speed of the source's interface such as "1Gig
    #   Ethernet", or "Virtual"
    # @attr [Integer] size bytes of a message
    # @attr [Float, nil] seconds of the measurement, without connecting and warm-up
    # @attr [Float, nil] connect_seconds that connecting took
    # @attr [Integer, nil] warmup round trips of the warm-up
    # @attr [Histogram, nil] histogram of the round-trip times
    # @attr [Integer, nil] timeouts requests without a reply in time
    # @attr [String, nil] error the reason of a failure
    MatrixRow = Struct.new(:source, :dest, :connection, :size, :seconds, :connect_seconds, :warmup,
      :histogram, :timeouts, :error, keyword_init: true) do
      # @return [Integer, nil] round trips
      def count = histogram&.count
      # @return [Float, nil] round trips a second
      def rate = histogram && count / seconds
      # @return [Boolean]
      def failed? = !error.nil?

      include OneLine

      private

      def summary = "#{source} to #{dest} #{size} B: #{error || trips(histogram)}"
    end

    # Lets each agent measure the latency to each agent, one after the other.
    class MatrixMeasurement
      def initialize(hosts, size, count, timeout, options)
        @hosts = hosts
        @size = size
        @count = count
        @timeout = timeout
        @options = options
        @run = SecureRandom.hex(16)
        # The key with which the agents may connect to each other's echo in this run.
        @client = Curve.keypair if options[:curve]
      end

      def run(&block)
        @rows = []
        @report = block
        @ports = {}
        @begun = {}
        @links = @hosts.transform_values { |endpoint| Link.new(endpoint, @timeout, @options) }
        @hosts.each_key { |name| begin_run(name) }
        names = @hosts.keys
        names.product(names) { |source, dest| measure(source, dest) }
        @rows.freeze
      ensure
        @links&.each { |name, link| end_run(name, link) }
      end

      private

      # Begins the run at a host, or renews its time limit there. A host that fails is excluded.
      def begin_run(name)
        port = command(name, "begin", "client_key" => @client&.public_key)["port"]
        @begun[name] = true
        raise @links[name].malformed unless port.is_a?(Integer) && port.between?(1, 65_535)
        @ports[name] = port
      rescue Error => error
        fail_host(name, error)
      end

      # @raise [ArgumentValueError] for a wrong keyword of the caller: every host would fail
      def fail_host(name, error)
        raise error if error.is_a?(ArgumentError)
        @ports.delete(name)
        report(source: name, error: error.message)
        nil
      end

      def measure(source, dest)
        @ports.each_key { |name| begin_run(name) }
        return unless @ports.key?(source) && @ports.key?(dest)
        found = latency(source, dest)
        report(source: source, dest: dest, **found) if found
      end

      # Returns what the source measured, or the error of this pair; nil when the source failed.
      def latency(source, dest)
        command(source, "measure", "endpoint" => echo(dest), "size" => @size, "count" => @count,
          "timeout" => @timeout, **keys)
        link = @links[source]
        limit = Standstill.new(link, Agent::ROW + @timeout)
        found = link.result(limit) { command(source, "measured") }
        connection = found["connection"]
        raise link.malformed unless connection.is_a?(String) &&
          connection.size.between?(1, 80) && Printable.text(connection) == connection
        {connection: connection, histogram: histogram(link, found["histogram"]),
         **link.figures(found, Agent::FIGURES)}
      rescue StateError => error
        {error: error.message}
      rescue Error => error
        fail_host(source, error)
      end

      def histogram(link, values)
        Histogram.from_h(values).freeze
      rescue ArgumentError
        raise link.malformed
      end

      def echo(dest) = @hosts[dest].sub(/:\d+\z/, ":#{@ports[dest]}")

      def keys
        return {} unless @client
        {"client_secret" => @client.secret_key, "server_key" => @options[:server_key]}
      end

      def command(name, what, **values)
        @links[name].command({"do" => what, "run" => @run, **values})
      end

      def report(**values)
        row = MatrixRow.new(size: @size, **values).freeze
        @rows << row
        @report&.call(row)
      end

      def end_run(name, link)
        command(name, "end") if @begun[name]
      rescue Error
        nil # the agent ends the run by itself after Agent::LEASE seconds
      ensure
        link.close
      end
    end
    private_constant :MatrixMeasurement
  end
end
