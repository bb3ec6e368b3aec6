# frozen_string_literal: true

module Godwit
  module CLI
    # `godwit beacon publish|listen PORT`: discovery in the wire format of CZMQ's zbeacon.
    class Beacon < Command
      summary "Publishes a beacon on the local network, or listens to those of others."
      usage "beacon publish PORT --payload TEXT [options] | beacon listen PORT [options]"

      private

      def define(parser)
        parser.on("--interface NAME", "name, IPv4 address or *; default: ZSYS_INTERFACE, else the",
          "first interface that can broadcast")
        parser.on("--payload TEXT", "publish: 1 to 255 bytes")
        parser.on("--interval SECONDS", Float, "publish: seconds between two beacons (1)")
        parser.on("--prefix TEXT", "listen: only payloads that begin with TEXT")
        count_option(parser, "--count", "ends after N beacons")
        timeout_option(parser)
        parser.separator <<~TEXT

          listen prints ADDRESS, a tab and the payload, one beacon a line. A payload with
          unprintable characters is printed as a Ruby String in double quotes.

        TEXT
      end

      def call(arguments)
        action, port, *rest = arguments
        no_arguments(rest)
        case action
        when "publish" then publish(number(port))
        when "listen" then listen(number(port))
        else
          given = ", not #{action.inspect}" if action
          raise UsageError, "type `beacon publish PORT` or `beacon listen PORT`#{given}"
        end
        EXIT[:ok]
      end

      def publish(port)
        raise UsageError, "beacon publish needs --payload TEXT" unless options[:payload]
        raise UsageError, "--prefix is for listen" if options[:prefix]
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

      def listen(port)
        if options[:payload] || options[:interval]
          raise UsageError, "--payload and --interval are for publish"
        end
        beacon(port) do |beacon|
          start = Timeout.now
          beacon.subscribe(options.fetch(:prefix, ""))
          1.step(options[:count]) do
            address, payload = beacon.recv(timeout: Timeout.left(options[:timeout], start))
            io.puts "#{address}\t#{shown(payload)}"
            io.flush
          end
        end
      end

      def beacon(port, **settings, &block)
        require "godwit"
        Godwit::Beacon.new(port, interface: options[:interface], **settings, &block)
      end

      def shown(payload)
        text = payload.dup.force_encoding(Encoding::UTF_8)
        (text.valid_encoding? && text.match?(/\A[[:print:]]+\z/)) ? text : payload.dump
      end

      def number(port)
        raise UsageError, "which UDP port?" unless port
        number = Integer(port, 10, exception: false)
        return number if number&.between?(1, 65_535)
        raise UsageError, "#{port.inspect} is no port: 1 to 65535"
      end
    end
  end
end
