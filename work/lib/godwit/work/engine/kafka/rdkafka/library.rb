# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Finds librdkafka: the first file of several sources that loads and is new enough.
      # @private
      module Library
        OLDEST = "2.3.0" # the oldest librdkafka that has ListOffsets
        # RTLD_NODELETE and RTLD_NOW: the library's threads may run longer than Ruby's objects.
        # RTLD_GLOBAL is not set, since another library of the process may have the same names.
        FLAGS = 0x1000 | 0x2
        ENDINGS = "so,dylib"
        SYSTEM = %w[librdkafka.so.1 librdkafka.1.dylib].freeze
        FIX = "type gem install karafka-rdkafka, or name the file: " \
          "GODWIT_LIBRDKAFKA=/path/to/librdkafka.so.1"

        Found = Struct.new(:path, :version)

        class << self
          # @return [Found] the path or the name for the loader, and the version
          # @raise [LoadError] with each source, and why none of its files will do
          def find
            @found ||= search(sources)
          end

          # @param what [String] what needs this version, for the error
          # @raise [UnsupportedError] when librdkafka is older
          def need(version, what)
            return if newer?(find.version, version)
            raise Godwit::Errors.of(UnsupportedError, :connect, "#{what} needs librdkafka " \
              "#{version}, and this is #{find.version}: type gem update karafka-rdkafka, or name " \
              "the file: GODWIT_LIBRDKAFKA=/path/to/librdkafka.so.1")
          end

          # @param sources [Array<Array(String, Array<String>)>] name and files of each source
          def search(sources)
            load_ffi
            reasons = sources.map do |source, files|
              problems = files.map do |file|
                found = check(file)
                return found if found.is_a?(Found)
                found
              end
              "  #{source}: #{problems.empty? ? "not there" : problems.join("; ")}"
            end
            raise ::LoadError, ["librdkafka #{OLDEST} or newer is not there: #{FIX}", *reasons]
              .join("\n")
          end

          private

          def sources
            wanted = ENV["GODWIT_LIBRDKAFKA"].to_s
            [
              ["GODWIT_LIBRDKAFKA", wanted.empty? ? [] : [wanted]],
              *%w[karafka-rdkafka rdkafka].map { |name| ["the gem #{name}", files_of(name)] },
              ["the system", SYSTEM]
            ]
          end

          # @return [Array<String>] the library's files in the gem's versions, the newest first
          def files_of(name)
            return [] unless defined?(Gem::Specification)
            specs = Gem::Specification.find_all_by_name(name).sort_by(&:version).reverse
            specs.flat_map { |one| Dir["#{one.full_gem_path}/ext/librdkafka.{#{ENDINGS}}"] }
          end

          def load_ffi
            require "ffi"
          rescue ::LoadError => error
            raise ::LoadError, "Kafka needs the gem ffi: type gem install karafka-rdkafka, which " \
              "brings it with librdkafka (#{error.message})"
          end

          # @return [Found, String] the library, or the reason why Work cannot use the file
          def check(file)
            library = ::FFI::DynamicLibrary.open(file, FLAGS)
            function = library.find_function("rd_kafka_version_str") or
              return "#{file} is another library"
            version = ::FFI::Function.new(:string, [], function).call
            return Found.new(file, version).freeze if newer?(version, OLDEST)
            "#{file} is librdkafka #{version}"
          rescue ::LoadError => error
            error.message.lines.first.strip
          end

          # @return [Boolean] whether the version is `least` or newer
          def newer?(version, least)
            (numbers(version) <=> numbers(least)) >= 0
          end

          def numbers(version) = version.scan(/\d+/).first(3).map(&:to_i)
        end
      end
    end
  end
end
