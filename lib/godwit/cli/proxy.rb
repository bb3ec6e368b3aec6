# frozen_string_literal: true

require_relative "signals"

module Godwit
  module CLI
    # `godwit proxy queue|forwarder|streamer`: moves messages between two bound endpoints.
    class Proxy < Family
      summary "Moves messages between two endpoints, to which clients and workers connect."
      usage "proxy queue|forwarder|streamer FRONT BACK [options]"

      # The base of the three subcommands, which differ in the types of their sockets.
      class Subcommand < Family::Subcommand
        notes <<~TEXT
          It binds both endpoints. An empty host is 127.0.0.1: to serve the network type
          tcp://*:5555. Ctrl-C and SIGTERM end it, with the counts as its last line.
        TEXT

        class << self
          # @return [Symbol] a method of Godwit::Proxy
          attr_reader :pattern

          # @param pattern [Symbol]
          # @param text [String] the summary
          # @return [Class] the command of the pattern
          def for(pattern, text)
            Class.new(self) do
              @pattern = pattern
              summary text
              usage "proxy #{pattern} FRONT BACK [options]"
            end
          end
        end

        private

        def define(parser)
          endpoint_option(parser, "--capture", "binds a PUB that publishes a copy of each message")
          parser.on("--stats SECONDS", Float, "prints counts in this interval") do |seconds|
            positive(seconds, "--stats")
          end
          define_keys(parser, server: true)
        end

        def call(arguments)
          front, back = arguments.first(2).map { |text| Endpoint.expand(text) }
          raise missing("endpoints") unless back
          no_arguments(arguments.drop(2))
          require "godwit"
          settings = server_security(front, back, *options[:capture])
          capture = PUB.bind(options[:capture], **settings) if options[:capture]
          Godwit::Proxy.public_send(self.class.pattern, front, back, capture: capture,
            **settings) { |proxy| serve(proxy) }
        ensure
          capture&.close
        end

        def serve(proxy)
          Signals.queued("INT", "TERM") do |events|
            watcher = Signals.watch(proxy, events, :proxy, "proxy")
            interval = options[:stats]
            timer = Thread.new { loop { sleep(interval) && events << :stats } } if interval
            sides = [proxy.frontend, proxy.backend, *proxy.capture]
            warn "godwit: #{self.class.pattern} #{sides.map(&:last_endpoint).join(" ")}"
            while (event = events.pop) == :stats
              io.puts counts(proxy.statistics)
              io.flush
            end
            raise event if event.is_a?(Exception)
            Signals.status(event)
          ensure
            [watcher, timer].compact.each(&:kill)
            warn "godwit: #{counts(proxy.statistics)}"
          end
        end

        def counts(statistics)
          sides = {"front" => statistics.frontend, "back" => statistics.backend}.map do |name, side|
            "#{name} received #{number(side.received)} (#{number(side.received_bytes)} bytes), " \
              "sent #{number(side.sent)} (#{number(side.sent_bytes)} bytes)"
          end
          copies = "captured #{number(statistics.capture.sent)}" if options[:capture]
          [*sides, *copies, "dropped #{number(statistics.dropped)}"].join(" · ")
        end

        def number(count) = Printable.number(count)
      end

      {
        queue: "Shares the requests of clients (REQ, DEALER) among workers (REP, ROUTER).",
        forwarder: "Hands the messages of publishers (PUB) to subscribers (SUB).",
        streamer: "Hands the messages of pushers (PUSH) to pullers (PULL)."
      }.each { |pattern, text| const_set(pattern.capitalize, Subcommand.for(pattern, text)) }

      # The subcommands, in the order of the help.
      SUBCOMMANDS = {"queue" => :Queue, "forwarder" => :Forwarder, "streamer" => :Streamer}.freeze
    end
  end
end
