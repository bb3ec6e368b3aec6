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

      def define(parser) = parser.on("--json", "as one JSON object")

      def call(arguments)
        no_arguments(arguments)
        require "godwit"
        features = FEATURES.to_h { |name| [name.downcase, Godwit.has?(name)] }
        io.puts options[:json] ? json(features) : text_of(features)
        EXIT[:ok]
      end

      def static? = Backend::IMPLEMENTATION::STATIC_LIBZMQ

      def json(features)
        require "json"
        JSON.pretty_generate(godwit: VERSION, backend: BACKEND, libzmq: Godwit.libzmq_version,
          libzmq_in_gem: static?, features: features, ruby: RUBY_VERSION, engine: RUBY_ENGINE,
          platform: RUBY_PLATFORM)
      end

      def text_of(features)
        with, without = features.keys.partition { |name| features[name] }.map { |n| n.join(" ") }
        libzmq = "#{Godwit.libzmq_version}#{" (in the gem)" if static?}"
        <<~TEXT
          godwit #{VERSION} (#{BACKEND} backend)
          libzmq #{libzmq} with #{with}; without #{without}
          #{RUBY_DESCRIPTION}
        TEXT
      end
    end
  end
end
