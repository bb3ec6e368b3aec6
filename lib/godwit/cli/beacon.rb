# frozen_string_literal: true

module Godwit
  module CLI
    # `godwit beacon publish|listen PORT`: discovery in the wire format of CZMQ's zbeacon.
    class Beacon < Family
      summary "Publishes a beacon on the local network, or listens to those of others."
      usage "beacon publish|listen PORT [options]"

      # What `publish` and `listen` have in common.
      class Subcommand < Command
        private

        def define(parser)
          parser.on("--interface NAME", "name, IPv4 address or *; default: ZSYS_INTERFACE, else " \
            "the first interface that can broadcast")
          count_option(parser, "--count", "ends after N beacons")
          timeout_option(parser)
        end

        def call(arguments)
          no_arguments(arguments.drop(1))
          work(number(arguments.first))
          EXIT[:ok]
        end

        def beacon(port, **settings, &block)
          require "godwit"
          Godwit::Beacon.new(port, interface: options[:interface], **settings, &block)
        end

        def number(port)
          raise missing("UDP port") unless port
          number = Integer(port, 10, exception: false)
          return number if number&.between?(1, 65_535)
          raise UsageError, "#{port.inspect} is no port: 1 to 65535"
        end
      end

      # `godwit beacon publish`.
      class Publish < Subcommand
        summary "Broadcasts a short text each second."
        usage "beacon publish PORT --payload TEXT [options]"

        private

        def define(parser)
          parser.on("--payload TEXT", "1 to 255 bytes")
          parser.on("--interval SECONDS", Float, "seconds between two beacons (1)")
          super
        end

        def work(port)
          raise UsageError, "beacon publish needs --payload TEXT" unless options[:payload]
          beacon(port, **options.slice(:interval)) do |beacon|
            beacon.publish(options[:payload])
              .wait_sent(options[:count], timeout: options[:timeout])
          ensure
            if beacon.failed.positive?
              warn "godwit: #{beacon.failed} could not be broadcast; " \
                "the last: #{beacon.last_error.message}"
            end
          end
        end
      end

      # `godwit beacon listen`.
      class Listen < Subcommand
        summary "Prints the beacons that come, with their senders' addresses."
        usage "beacon listen PORT [options]"
        notes <<~TEXT
          It prints ADDRESS, a tab and the payload, one beacon a line. A payload with unprintable
          characters is printed as a Ruby String in double quotes.
        TEXT

        private

        def define(parser)
          parser.on("--prefix TEXT", "only payloads that begin with TEXT")
          super
        end

        def work(port)
          beacon(port) do |beacon|
            start = Timeout.now
            beacon.subscribe(options.fetch(:prefix, ""))
            1.step(options[:count]) do
              address, payload = beacon.recv(timeout: Timeout.remaining(options[:timeout], start))
              io.puts "#{address}\t#{shown(payload)}"
              io.flush
            end
          end
        end

        def shown(payload)
          text = payload.dup.force_encoding(Encoding::UTF_8)
          (text.valid_encoding? && text.match?(/\A[[:print:]]+\z/)) ? text : payload.dump
        end
      end

      # The subcommands, in the order of the help.
      SUBCOMMANDS = {"publish" => :Publish, "listen" => :Listen}.freeze
    end
  end
end
