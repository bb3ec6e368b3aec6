# frozen_string_literal: true

module Godwit
  module Work
    module CLI
      # `godwit-work version`: prints the versions of godwit-work, SQLite or librdkafka, godwit,
      # libzmq and Ruby.
      class Version < Command
        summary "Prints the versions of godwit-work, SQLite or librdkafka, godwit, libzmq and Ruby."
        usage "version [--json]"

        private

        def define(parser) = parser.on("--json", "as one JSON object")

        def call(arguments)
          no_arguments(arguments)
          require "godwit/work"
          io.puts options[:json] ? json : text
          Godwit::CLI::EXIT[:ok]
        end

        def json
          require "json"
          JSON.pretty_generate(godwit_work: VERSION, **log, godwit: Godwit::VERSION,
            libzmq: Godwit.libzmq_version, ruby: RUBY_VERSION, platform: RUBY_PLATFORM)
        end

        def text
          <<~TEXT
            godwit-work #{VERSION}
            #{log[:librdkafka] ? "librdkafka #{log[:librdkafka]}" : sqlite}
            godwit #{Godwit::VERSION} (#{BACKEND} backend), libzmq #{Godwit.libzmq_version}
            #{RUBY_DESCRIPTION}
          TEXT
        end

        def sqlite = "SQLite #{log[:sqlite]} (gem sqlite3 #{log[:sqlite3_gem]})"

        def log = @log ||= Work.const_get(:Connection).versions
      end
    end
  end
end
