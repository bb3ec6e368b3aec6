# frozen_string_literal: true

require "socket"

module Godwit
  module Perf
    # The agent of a {Server}, for {Perf.matrix}; a run is one call of that method. During a run the
    # agent echoes on a port of its own, and measures the links to other agents, one at a time. It
    # does one run at a time. A run without commands for LEASE seconds ends.
    class Agent
      LEASE = 150 # seconds without a command after which a run ends
      ROW = 60 # seconds that the measurement of one row may take
      DOMAIN = "godwit-perf-run" # the ZAP domain in which the run's client key is allowed
      COMMANDS = {"begin" => :begin_run, "measure" => :measure, "measured" => :measured,
                  "end" => :end_run}.freeze
      INTERFACES = "/sys/class/net"
      LOOPBACK = /\A(?:127\.|::1\z)/
      # The fields of a {Latency} that the answer has in addition to the histogram.
      FIGURES = %i[seconds connect_seconds warmup timeouts].freeze

      # The echo server binds `endpoint`, whose port is a wildcard. `authenticator` is for `auth:`.
      def initialize(endpoint, options, authenticator)
        @endpoint = endpoint
        @options = options
        @authenticator = authenticator
      end

      def answer(values)
        run = values["run"]
        if @run && @run != run
          return {"error" => "this agent is busy: it does one run at a time"}
        end
        if !run.is_a?(String) || (@run.nil? && values["do"] != "begin")
          return {"error" => "there is no such run: it ended, or never began"}
        end
        @until = Timeout.now + LEASE
        send(COMMANDS.fetch(values["do"]), values)
      end

      # @return [Numeric, nil] seconds after which {#expire} must be called; nil: no run
      def remaining_time = @run && Timeout.until([@until, *@row_until].min)

      # Ends the run, or the measurement of one row, whose time limit has passed.
      def expire
        return close if Timeout.now >= @until
        late = @thread.alive?
        close_measurement
        if late
          @found = {"error" => "the measurement took more than #{ROW} s: " \
            "use a smaller count"}
        end
      end

      # Ends the run, and closes its sockets.
      def close
        @echo&.close
        @echo_thread&.join
        close_measurement
        @authenticator&.reset(domain: DOMAIN) if @run
        @run = @echo = @echo_thread = nil
      end

      private

      # A second "begin" of the same run only renews the time limit of the run.
      def begin_run(values)
        open_echo(values["client_key"]) unless @run
        @run = values["run"]
        {"port" => Endpoint.port(@echo.last_endpoint)}
      end

      def open_echo(key)
        options = @options
        if options[:auth]
          @authenticator.curve(keys: {"run" => key}, domain: DOMAIN)
          options = {**options, auth: DOMAIN}
        end
        @echo = Server.new(@endpoint, **options)
        @echo_thread = Worker.new { @echo.run }
      end

      # The measurement has its own context: the close of that context ends each of its waits.
      def measure(values)
        return {"error" => "this agent is busy: it measures already"} if @thread&.alive?
        Perf.check_size(:matrix, values["size"])
        Perf.check_extent(:matrix, nil, values["count"])
        Perf.check_above_zero(:matrix, "timeout:", "seconds", values["timeout"])
        context = @context ||= Context.new
        @found = nil
        @row_until = Timeout.now + ROW
        @thread = Worker.new { @found = found(context, values) }
        {}
      end

      def close_measurement
        @context&.close
        @thread&.join
        @context = @thread = @row_until = nil
      end

      def found(context, values)
        endpoint, size, count, timeout = values.values_at("endpoint", "size", "count", "timeout")
        link = Link.new(endpoint, [timeout, ROW].min, {context: context, **security(values)})
        latency = LatencyMeasurement.new(link, size, nil, count).run
        {"connection" => connection(endpoint), "histogram" => latency.histogram.to_h,
         **FIGURES.to_h { |name| [name.to_s, latency[name]] }}
      rescue => error
        {"error" => error.message}
      end

      # Names the connection: "localhost", the speed of the interface such as "1Gig Ethernet", or
      # "Virtual" for an interface without a speed.
      def connection(endpoint)
        local, remote = addresses(*endpoint.match(%r{\Atcp://\[?(.+?)\]?:(\d+)\z}).captures)
        return "localhost" if local == remote || remote.match?(LOOPBACK)
        speed(interface(local))
      end

      # The connect of a UDP socket sends nothing, but lets the kernel choose the local address.
      def addresses(host, port)
        Addrinfo.udp(host, port).connect do |socket|
          [socket.local_address.ip_address, socket.remote_address.ip_address]
        end
      end

      def interface(address)
        ::Socket.getifaddrs.find do |found|
          found.addr&.ip? && found.addr.ip_address == address
        end&.name
      end

      def speed(interface)
        megabits = Integer(File.read(File.join(INTERFACES, interface.to_s, "speed")))
        return "Virtual" unless megabits.positive?
        return "#{megabits}Mbit Ethernet" if megabits < 1_000
        "#{format("%g", megabits / 1_000.0)}Gig Ethernet"
      rescue SystemCallError, ArgumentError # the interface has no speed
        "Virtual"
      end

      def security(values)
        return {} unless values["server_key"]
        {curve: Curve::Keypair.new(secret_key: values["client_secret"]),
         server_key: values["server_key"]}
      end

      def measured(_values)
        return {"ended" => false} if @thread&.alive?
        @found || {"error" => "there is no such measurement"}
      end

      def end_run(_values)
        close
        {}
      end
    end
    private_constant :Agent
  end
end
