# frozen_string_literal: true

module Godwit
  module CLI
    # `godwit beacon publish|listen PORT`: discovery on the local network, on the wire of CZMQ's
    # zbeacon.
    class Beacon < Command
      summary "Publishes a beacon on the local network, or listens to those of others."
      usage "beacon publish PORT --payload TEXT [options] | beacon listen PORT [options]"

      private

      def define(options)
        options.on(
          "--interface NAME",
          "name, IPv4 address, or *; else ZSYS_INTERFACE, else the first that can broadcast"
        ) { |name| @interface = name }
        options.on("--payload TEXT", "publish: 1 to 255 bytes") { |text| @payload = text }
        options.on("--interval SECONDS", Float, "publish: between two; 1 unless told") do |seconds|
          @interval = seconds
        end
        options.on("--prefix TEXT", "listen: only to what starts so") { |text| @prefix = text }
        options.on("--count N", OptionParser::DecimalInteger, "ends after so many") do |count|
          @count = positive(count)
        end
        options.on(
          "--timeout SECONDS", Float, "ends after this time, with status #{EXIT[:timed_out]}"
        ) { |seconds| @timeout = not_negative(seconds) }
        options.separator ""
        options.separator "listen prints ADDRESS, a tab and the payload, one beacon a line; a " \
          "payload with other than"
        options.separator "printable characters as a Ruby String, in double quotes."
        options.separator ""
      end

      def call(arguments)
        action, port, *rest = arguments
        no_arguments(rest)
        case action
        when "publish"
          publish(number(port))
        when "listen"
          listen(number(port))
        else
          raise UsageError,
            "type `beacon publish PORT` or `beacon listen " \
            "PORT`#{", not #{action.inspect}" if action}"
        end
        EXIT[:ok]
      end

      def publish(port)
        raise UsageError, "beacon publish needs --payload TEXT" unless @payload
        raise UsageError, "--prefix is for listen" if @prefix
        beacon(port, **{interval: @interval}.compact) do |beacon|
          beacon.publish(@payload).wait_sent(@count, timeout: @timeout)
        ensure
          if beacon.failed.positive?
            warn "godwit: #{beacon.failed} could not be broadcast; the " \
              "last: #{beacon.last_error.message}"
          end
        end
      end

      def listen(port)
        raise UsageError, "--payload and --interval are for publish" if @payload || @interval
        beacon(port) do |beacon|
          finish = @timeout && Timeout.now + @timeout
          beacon.subscribe(@prefix || "")
          1.step(@count) do
            address, payload = beacon.recv(timeout: finish && [finish - Timeout.now, 0].max)
            io.puts "#{address}\t#{shown(payload)}"
            io.flush
          end
        end
      end

      def beacon(port, **options, &block)
        require "godwit"
        Godwit::Beacon.new(port, interface: @interface, **options, &block)
      end

      def shown(payload)
        text = payload.dup.force_encoding(Encoding::UTF_8)
        (text.valid_encoding? && text.match?(/\A[[:print:]]+\z/)) ? text : payload.dump
      end

      def number(port)
        raise UsageError, "which UDP port?" unless port
        number = Integer(port, 10, exception: false)
        if number&.between?(1, 65_535)
          number
        else
          raise(UsageError, "#{port.inspect} is no port: 1 to 65535")
        end
      end

      def not_negative(seconds)
        raise UsageError, "--timeout is 0 or more" if seconds.negative?
        seconds
      end

      def positive(count)
        raise UsageError, "--count is 1 or more" unless count.positive?
        count
      end
    end
  end
end
