# frozen_string_literal: true

require_relative "family"

module Godwit
  module CLI
    # `godwit sh push|pull`: the rows of a command on one machine are the input of a command on
    # another. Each part is a class in sh/.
    class Sh < Family
      summary "Sends the rows of a command to another machine, where `sh pull` prints them."
      usage "sh push|pull ENDPOINT [options]"

      # What push and pull have in common.
      class Part < Family::Part
        ESCAPES = {"n" => "\n", "r" => "\r", "t" => "\t", "0" => "\0", "\\" => "\\"}.freeze
        private_constant :ESCAPES

        private

        def define_common(parser)
          count_option(parser, "--count", "ends after N rows")
          timeout_option(parser)
          count_option(parser, "--hwm", "high-water mark: rows that may wait here (1000)")
          parser.on("--keep",
            "for workers: neither side ends when the other leaves; give it to both")
          define_keys(parser)
        end

        # @return [String] a separator, as users type it in a shell
        def separator(text)
          raise UsageError, "--sep needs a separator, such as ';' or '\\t'" if text.empty?
          text.gsub(/\\([nrt0\\])/) { ESCAPES[$1] }
        end

        def endpoint(arguments)
          if arguments.first&.start_with?("inproc:")
            raise UsageError, "inproc:// connects threads of one process only"
          end
          super
        end

        # @param bind [Boolean] whether to bind; CURVE's server is the side that binds
        # @return [Socket] with the high-water mark that --hwm gives
        def open_socket(type, hwm, bind)
          security = bind ? server_security : client_security
          type.new(**{hwm => options[:hwm]}.compact, **security)
        end

        # Prints the endpoint if the system chose the port.
        def attach(socket, endpoint, bind)
          bind ? socket.bind(endpoint) : socket.connect(endpoint)
          warn "godwit: #{socket.last_endpoint}" if endpoint.end_with?("*")
        end
      end

      # In the order of the help.
      PARTS = {"push" => :Push, "pull" => :Pull}.freeze
      PARTS.each_key { |name| require_relative "sh/#{name}" }
    end
  end
end
