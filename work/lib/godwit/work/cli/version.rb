# frozen_string_literal: true

module Godwit
  module Work
    module CLI
      # `godwit-work version`: the versions of godwit-work, SQLite, godwit, libzmq and Ruby.
      class Version < Command
        summary "Prints the versions of godwit-work, SQLite, godwit, libzmq and Ruby."
        usage "version [--json]"

        private

        def define(parser) = parser.on("--json", "as one JSON object")

        def call(arguments)
          no_arguments(arguments)
          require "godwit/work"
          require "sqlite3"
          io.puts options[:json] ? json : text
          Godwit::CLI::EXIT[:ok]
        end

        def json
          require "json"
          JSON.pretty_generate(godwit_work: VERSION, sqlite: SQLite3::SQLITE_VERSION,
            sqlite3_gem: SQLite3::VERSION, godwit: Godwit::VERSION,
            libzmq: Godwit.libzmq_version, ruby: RUBY_VERSION, platform: RUBY_PLATFORM)
        end

        def text
          <<~TEXT
            godwit-work #{VERSION}
            SQLite #{SQLite3::SQLITE_VERSION} (gem sqlite3 #{SQLite3::VERSION})
            godwit #{Godwit::VERSION} (#{BACKEND} backend), libzmq #{Godwit.libzmq_version}
            #{RUBY_DESCRIPTION}
          TEXT
        end
      end
    end
  end
end
