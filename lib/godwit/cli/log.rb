# frozen_string_literal: true

require_relative "family"

module Godwit
  module CLI
    # `godwit log serve|tail|stats|send`: records of many processes in one place. Each of the four
    # is a class in log/.
    class Log < Family
      summary "Takes records of many processes, hands them on, shows them."
      usage "log serve|tail|stats|send [options]"

      # What the four have in common.
      class Part < Family::Part
        UNITS = {"" => 1, "k" => 1 << 10, "M" => 1 << 20, "G" => 1 << 30}.freeze
        private_constant :UNITS

        # @param arguments [Array<String>] as {Command#run}
        # @param io [IO] where it prints
        # @return [Integer] exit status
        # @raise [UsageError, OptionParser::ParseError] when the arguments are wrong
        def run(arguments, io: $stdout)
          super
        rescue Errno::EADDRINUSE => error
          raise unless error.respond_to?(:endpoint)
          warn "godwit: #{error.endpoint} is in use"
          EXIT[:failed]
        end

        private

        def load_library
          require "godwit"
          Godwit::Logger
        end

        # @return [String] the one argument
        def endpoint(arguments)
          first, *rest = arguments
          raise UsageError, "which endpoint? type #{self.class.usage}" unless first
          no_arguments(rest)
          Endpoint.expand(first)
        end

        # Asks a `log serve`.
        # @yieldparam control [Logger::Control]
        # @param told [Boolean] whether these seconds are those of --timeout
        def ask(endpoint, seconds, told:)
          control = Godwit::Logger::Control.new(endpoint, timeout: seconds, **client_security)
          yield control
        rescue Godwit::TimeoutError
          text =
            "no answer from #{endpoint} in #{seconds} s: a `godwit log serve` has its --control " \
            "there?"
          raise (told ? Godwit::TimeoutError : Godwit::StateError).new(text, operation: :control)
        ensure
          control&.close
        end

        # @return [String, nil] the endpoint one port further; nil where it has none
        def next_port(endpoint)
          start, port = endpoint.match(%r{\A((?:tcp|wss?)://.*:)(\d+)\z})&.captures
          "#{start}#{Integer(port, 10) + 1}" if port && Integer(port, 10).between?(1, 65_534)
        end

        def size(text, option)
          bytes(text) ||
            raise(UsageError, "#{option} takes a size such as 10M (k, M, G): got #{text.inspect}")
        end

        # @return [Integer, nil] nil: that is no size
        def bytes(text)
          digits, unit = text.match(/\A([1-9]\d*)([kMG]?)\z/)&.captures
          Integer(digits, 10) * UNITS.fetch(unit) if digits
        end

        # @param message [Array<String>, String] that is neither record nor line; nothing in it
        #   steers a terminal
        def tell_foreign(message)
          warn(
            "godwit: no " \
            "record: #{Array(message).map { |frame| frame.byteslice(0, 200).dump }.join(" ")}"
          )
        end

        # What the library calls an argument error is here a wrong command line.
        def check(option)
          yield
        rescue ArgumentError, RegexpError => error
          raise UsageError, "#{option}: #{CLI.words_of(error)}"
        end
      end

      # In the order in which the help lists them.
      PARTS = {"serve" => :Serve, "tail" => :Tail, "stats" => :Stats, "send" => :Send}.freeze
      PARTS.each_key { |name| require_relative "log/#{name}" }
    end
  end
end
