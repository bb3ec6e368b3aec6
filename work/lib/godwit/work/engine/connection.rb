# frozen_string_literal: true

require "json"

module Godwit
  module Work
    # Opens the engine of a URL.
    # @private
    module Connection
      HOW = "write Godwit::Work.connect \"kafka://host:9092\" or \"sqlite:work.db\", or type " \
        "export GODWIT_WORK_URL=sqlite:work.db"
      CREATE = "look at GODWIT_WORK_URL, or create the log with `godwit-work run` or " \
        "Godwit::Work.connect"
      URLS = "\"sqlite:PATH\" or \"kafka://HOST:PORT\": #{HOW}"
      SETTINGS = "GODWIT_WORK_SETTINGS"
      JSON_OBJECT = "a JSON object of keywords of connect, such as {\"sasl\": " \
        "\"SCRAM-SHA-512\", \"kafka\": {\"ssl.ca.location\": \"ca.pem\"}}"

      class << self
        # @param create [Boolean] see {Work.connect}
        # @param settings [Hash] see {Work.connect}
        # @return [Object] see Contract
        # @raise (see Work.connect)
        def open(url, create: true, **settings)
          raise Godwit::Errors.of(StateError, :connect, "which log? #{HOW}") if url.empty?
          settings = {**environment, **settings} if url == ENV["GODWIT_WORK_URL"]
          path = url.b[/\Asqlite:([^\0]+)\z/n, 1]&.force_encoding(url.encoding)
          return sqlite(path, url, create, **settings) if path
          return kafka(url, **settings) if cluster?(url)
          raise Godwit::Errors.bad_value(:connect, "url", URLS, Kafka::Url.shown(url))
        end

        # @return [Boolean] whether the URL names brokers
        def cluster?(url) = Kafka::Url.kafka?(url)

        # @return [Hash{Symbol => String}] versions of the libraries for the environment's URL
        # @raise [LoadError] when a library is missing
        def versions
          cluster = cluster?(ENV["GODWIT_WORK_URL"].to_s)
          return {librdkafka: Kafka::Library.find.version} if cluster
          require "sqlite3"
          {sqlite: SQLite3::SQLITE_VERSION, sqlite3_gem: SQLite3::VERSION}
        end

        private

        # @return [Hash{Symbol => Object}] settings of the environment's URL
        def environment
          text = ENV[SETTINGS].to_s
          return {} if text.empty?
          found = begin
            JSON.parse(text)
          rescue JSON::JSONError, EncodingError
            nil # the parser's message may show a secret
          end
          if found.is_a?(Hash)
            return found.to_h { |name, value|
              [name.to_sym, (name == "durability") ? value.to_s.to_sym : value]
            }
          end
          raise Godwit::Errors.of(ArgumentValueError, :connect,
            "#{SETTINGS} must be #{JSON_OBJECT}")
        end

        def kafka(url, **settings)
          only(settings, %i[sasl timeout transactions group_protocol instance kafka],
            "Kafka, where acks=all always holds")
          KafkaEngine.new(Kafka::Settings.new(url, **settings).check)
        end

        def sqlite(path, url, create, **settings)
          only(settings, %i[durability], "an SQLite file")
          durability = settings.fetch(:durability, :process)
          unless %i[process power].include?(durability)
            raise Godwit::Errors.bad_value(:connect, "durability:", ":process or :power",
              durability)
          end
          path = expand(path, url) unless path == Database::MEMORY
          raise AccessError, "no log in #{path}: #{CREATE}" unless create || Schema.in?(path)
          return MemoryEngine.new(clock: nil) if path == Database::MEMORY
          SqliteEngine.new(path, durability: durability)
        end

        # Makes the path absolute, since other processes have other working directories.
        def expand(path, url)
          File.expand_path(path)
        rescue ::ArgumentError # the path has ~name of no user, or ~ without HOME
          raise Godwit::Errors.bad_value(:connect, "url", URLS, url)
        end

        def only(settings, known, engine)
          unknown = settings.keys - known
          return if unknown.empty?
          raise Godwit::Errors.of(ArgumentValueError, :connect, "#{unknown.first}: is not a " \
            "setting of #{engine}: leave it out")
        end
      end
    end
  end
end
