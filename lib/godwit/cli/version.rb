# frozen_string_literal: true

module Godwit
  module CLI
    # `godwit version`: the versions of godwit, libzmq and Ruby, and libzmq's features.
    class Version < Command
      summary "Prints the versions of godwit, libzmq and Ruby, and what libzmq was built with."
      usage "version [--json]"

      # The features that zmq_has(3) knows.
      FEATURES = %w[ipc curve gssapi draft WS WSS pgm norm tipc vmci].freeze

      private

      def define(parser)
        parser.on("--json", "as one JSON object")
      end

      def call(arguments)
        no_arguments(arguments)
        require "godwit"
        options[:json] ? print_json : print_text
        EXIT[:ok]
      end

      def facts
        {
          godwit: VERSION, backend: BACKEND, libzmq: Godwit.libzmq_version,
          features: FEATURES.to_h { |name| [name.downcase, Godwit.has?(name)] }, ruby: RUBY_VERSION,
          engine: RUBY_ENGINE, platform: RUBY_PLATFORM
        }
      end

      def print_json
        require "json"
        io.puts JSON.pretty_generate(facts)
      end

      def print_text
        facts => {features:}
        with, without = features.keys.partition { |name| features[name] }
        io.puts "godwit #{VERSION} (#{BACKEND} backend)"
        io.puts "libzmq #{Godwit.libzmq_version} with #{with.join(" ")}; " \
          "without #{without.join(" ")}"
        io.puts RUBY_DESCRIPTION
      end
    end
  end
end
