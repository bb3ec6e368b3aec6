# frozen_string_literal: true

module Godwit
  module CLI
    # `godwit log serve|tail|stats|send`: collects and shows the records of many processes.
    class Log < Family
      summary "Receives records of many processes, forwards them, shows them."
      usage "log serve|tail|stats|send [options]"

      # What `serve`, `tail`, `stats` and `send` have in common.
      class Subcommand < Family::Subcommand
        ANSWER_TIMEOUT = 5 # seconds that an answer of `log serve` may take
        private_constant :ANSWER_TIMEOUT

        private

        # Connects to the control endpoint of a `log serve`.
        # @raise [TimeoutError] when --timeout is up; StateError after {ANSWER_TIMEOUT} seconds
        def with_control(endpoint, seconds)
          control = Logger::Control.new(endpoint, timeout: seconds, **client_security(endpoint))
          yield control
        rescue TimeoutError => late
          error = (seconds == options[:timeout]) ? TimeoutError : StateError
          text = "no answer from #{endpoint} in #{seconds} s: " \
            "#{late.why || "a `godwit log serve` has its --control there?"}"
          raise error.new(text, operation: :control)
        ensure
          control&.close
        end

        # @return [String, nil] the endpoint with its port plus 1; nil: the endpoint has no port
        def next_port(endpoint)
          start, port = endpoint.match(%r{\A((?:tcp|wss?)://.*:)(\d+)\z})&.captures
          "#{start}#{Integer(port, 10) + 1}" if port && Integer(port, 10).between?(1, 65_534)
        end

        def size_option(parser, name, *text)
          parser.on("#{name} SIZE", *text) do |size|
            bytes(size) or
              raise UsageError, "#{name} takes a size such as 10M (k, M, G): got #{size.inspect}"
          end
        end

        # @return [Integer, nil] bytes; nil: the text is no size of 1 or more
        def bytes(text) = units(text, BINARY)&.nonzero?

        def print_foreign(message)
          frames = Array(message).map { |frame| frame.byteslice(0, 200).dump }
          warn "godwit: no record: #{frames.join(" ")}"
        end
      end

      # The subcommands, in the order of the help.
      SUBCOMMANDS = {"serve" => :Serve, "tail" => :Tail, "stats" => :Stats, "send" => :Send}.freeze
      SUBCOMMANDS.each_key { |name| require_relative "log/#{name}" }
    end
  end
end
