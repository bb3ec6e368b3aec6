# frozen_string_literal: true

require_relative "sockets/types"

module Godwit
  module CLI
    # `godwit monitor ENDPOINT`: the events of a socket's connections, as they happen.
    class Monitor < Family::Subcommand
      summary "Connects to an endpoint, or binds it, and prints each event of its connections."
      usage "monitor ENDPOINT [--type TYPE] [--bind] [options]"
      notes <<~TEXT
        It sends nothing, answers nothing and subscribes to nothing. A monitor of type pull that
        connects to a PUSH takes a message from the other pullers. docs/monitor.md explains the
        events.
      TEXT

      TYPE = "dealer"
      private_constant :TYPE

      private

      def define(parser)
        choice_option(parser, "--type TYPE", Sockets::TYPES.keys,
          "the type of its socket, which must fit the peer's; default: #{TYPE}")
        parser.on("--bind", "binds; default: connects")
        parser.on("--json", "one JSON object a line")
        count_option(parser, "--count", "ends after N events")
        timeout_option(parser)
        define_keys(parser)
      end

      def call(arguments)
        endpoint = foreign_endpoint(arguments)
        no_arguments(arguments.drop(1))
        require "godwit"
        security = options[:bind] ? server_security(endpoint) : client_security(endpoint)
        socket = Godwit.const_get(options.fetch(:type, TYPE).upcase)
          .new(linger: 0, recv_hwm: 1, **security)
        monitor = socket.monitor
        options[:bind] ? socket.bind(endpoint) : socket.connect(endpoint)
        follow(monitor)
      ensure
        socket&.close
      end

      def follow(monitor)
        start = Timeout.now
        1.step(options[:count]) do
          remaining = Timeout.remaining(options[:timeout], start)
          event = monitor.next_event(timeout: remaining, exception: false)
          return EXIT[:timed_out] unless event
          io.puts options[:json] ? json(event) : line(event)
          io.flush
        end
        EXIT[:ok]
      end

      def line(event) = "#{Time.now.strftime("%T.%6N")} #{Printable.text(event.to_s)}"

      def json(event)
        require "json"
        Printable.json(JSON.generate(
          time: Time.now.strftime("%FT%T.%6N%:z"), event: event.name,
          endpoint: event.endpoint.scrub, value: event.value, reason: event.reason,
          failure: event.failure?
        ))
      end
    end
  end
end
