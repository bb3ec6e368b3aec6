# frozen_string_literal: true

require_relative "family"

module Godwit
  module CLI
    # `godwit sh push|pull`: the rows of a command on one machine are the input of another's. Each
    # of the two is a class in sh/.
    class Sh < Family
      summary "Sends the rows of a command to another machine, where `sh pull` prints them."
      usage "sh push|pull ENDPOINT [options]"

      # What the two have in common.
      class Part < Family::Part
        ESCAPES = {
          "\\n" => "\n", "\\r" => "\r", "\\t" => "\t", "\\0" => "\0", "\\\\" => "\\"
        }.freeze
        private_constant :ESCAPES

        private

        def define_common(options)
          options.on(
            "--count N", OptionParser::DecimalInteger, "ends after so many rows"
          ) { |count| @count = positive(count, "--count") }
          options.on(
            "--timeout SECONDS", Float, "ends after this time, with status #{EXIT[:timed_out]}"
          ) { |seconds| @timeout = not_negative(seconds, "--timeout") }
          options.on(
            "--hwm N", OptionParser::DecimalInteger,
            "high-water mark: rows that may wait here; 1000 unless told"
          ) { |count| @hwm = positive(count, "--hwm") }
          options.on(
            "--keep", "for workers: neither side ends when the other leaves; give it to both"
          ) { @keep = true }
          define_keys(options)
        end

        # @return [String] a separator, as it is typed in a shell
        def separator(text)
          raise UsageError, "--sep needs a separator, such as ';' or '\\t'" if text.empty?
          text.gsub(/\\[nrt0\\]/, ESCAPES)
        end

        def endpoint(text)
          raise UsageError, "which endpoint? type #{self.class.usage}" unless text
          raise UsageError, "inproc:// is for one process alone" if text.start_with?("inproc:")
          Endpoint.expand(text)
        end

        # Tells where, if only the system knows.
        def attach(socket, endpoint, bind)
          bind ? socket.bind(endpoint) : socket.connect(endpoint)
          warn "godwit: #{socket.last_endpoint}" if endpoint.end_with?("*")
        end
      end

      # In the order in which the help lists them.
      PARTS = {"push" => :Push, "pull" => :Pull}.freeze
      PARTS.each_key { |name| require_relative "sh/#{name}" }
    end
  end
end
