# frozen_string_literal: true

require "socket"
require_relative "../../work/test/support/broker"

module Bench
  # What bench/work.rb compares Godwit with: gems that are in no bundle of this repository, Debian's
  # redis-server, and a Kafka broker. Servers run on loopback ports of their own.
  module WorkContenders
    GEMFILE = File.join(FOLDER, "gemfiles", "work", "Gemfile")
    GEMS = File.join(BUILD, "gems")
    # Seconds for a server to start or to end.
    DEADLINE = 60

    module_function

    # Where Bundler installs them.
    def gem_home = File.join(GEMS, RUBY_ENGINE, RbConfig::CONFIG["ruby_version"])

    # Of their programs. Karafka makes a folder for its log.
    def environment = {"GEM_HOME" => gem_home, "KARAFKA_ROOT_DIR" => BUILD}

    # Installs the gems when they are not there: karafka-rdkafka compiles librdkafka for 2 minutes.
    def install
      return if %i[karafka sidekiq].all? { |name| installed?(name) }
      settings = {
        "BUNDLE_GEMFILE" => GEMFILE, "BUNDLE_PATH" => GEMS, "BUNDLE_FROZEN" => "true"
      }
      warn "installs Karafka and Sidekiq into #{GEMS.delete_prefix("#{ROOT}/")}"
      unbundled { system(settings, "bundle", "install", out: :err) } ||
        warn("bundle install failed")
    end

    # Bundler restores the environment of an outer `bundle exec`, with another Gemfile.
    def unbundled(&block) = defined?(Bundler) ? Bundler.with_unbundled_env(&block) : yield

    # @return [String] "karafka-2.5.0", as the lock file says
    def gem(name)
      version = File.read("#{GEMFILE}.lock")[/^    #{name} \((.+)\)$/, 1]
      "#{name}-#{version}"
    end

    def installed?(name) = Dir.exist?(File.join(gem_home, "gems", gem(name)))

    # @return [String, nil] why a contender is not there
    def missing(kind)
      return missing_server(kind) if installed?(kind)
      "not there: the gem #{kind}; rake bench:work installs it"
    end

    def missing_server(kind)
      return missing_broker unless kind == :sidekiq
      "not there: redis-server; type apt-get install redis-server" unless program?("redis-server")
    end

    def missing_broker
      "not there: Java 17 and Kafka; GODWIT_KAFKA_START names start.sh" unless Broker.startable?
    end

    # @return [String, nil] why Godwit cannot run on Kafka here
    def missing_kafka
      missing_broker || ("not there: librdkafka; type bin/setup" unless librdkafka_path)
    end

    # @return [String, nil] the file that bin/setup installs
    def librdkafka_path
      ENV["GODWIT_LIBRDKAFKA"] ||
        Dir["#{ROOT}/vendor/kafka/gems/karafka-rdkafka-*/ext/librdkafka.so"].max
    end

    def program?(name)
      system(name, "--version", out: File::NULL, err: File::NULL)
    end

    # @return [String] of everything that this machine has
    def versions
      found = [sqlite]
      unless Contest.missing(:karafka)
        found << gem(:karafka) << librdkafka << "Kafka #{kafka_version}" << java
      end
      unless Contest.missing(:sidekiq)
        found << gem(:sidekiq) << "redis-server #{`redis-server --version`[/v=(\S+)/, 1]}"
      end
      found.join(", ")
    end

    def sqlite
      command = [RbConfig.ruby, *Programs.load_path(*Programs.gem_paths("sqlite3")), "-rsqlite3"]
      probe = 'print SQLite3::VERSION, " with SQLite ", SQLite3::SQLITE_LOADED_VERSION'
      "sqlite3 #{IO.popen([Child::ENVIRONMENT, *command, "-e", probe], &:read)}"
    end

    def librdkafka
      probe = 'require "karafka"; print Rdkafka::VERSION, " with librdkafka ", ' \
        "Rdkafka::LIBRDKAFKA_VERSION"
      settings = Child::ENVIRONMENT.merge(environment)
      "karafka-rdkafka #{IO.popen([settings, RbConfig.ruby, "-e", probe], &:read)}"
    end

    def kafka_version
      Dir[File.join(File.dirname(Broker.script), "libs", "kafka-clients-*.jar")].first.to_s[/([\d.]+)\.jar/, 1]
    end

    def java = "Java #{IO.popen(%w[java --version], &:read)[/\d[\d.]+/]}"

    # @yieldparam url [String] of a Redis that stores nothing
    def redis
      Dir.mktmpdir("godwit-redis") do |folder|
        port = Godwit::TestSupport::Ports.free
        pid = Process.spawn(
          "redis-server", "--port", port.to_s, "--bind", "127.0.0.1", "--save", "",
          "--appendonly", "no", "--daemonize", "no", "--dir", folder, out: File::NULL
        )
        raise Failure, "no server on port #{port}" unless Bench.listens?(port, DEADLINE) { true }
        yield "redis://127.0.0.1:#{port}/0"
      ensure
        Process.kill(:TERM, pid) && Process.wait(pid) if pid
      end
    end

    # @yieldparam address [String] of a broker with no topics
    def kafka = Broker.open(java: nil) { |broker| yield broker.brokers }
  end
end
