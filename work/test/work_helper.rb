# frozen_string_literal: true

require "test_helper"
require "godwit/work"
require "godwit/work/cli"
require "support/kafka_log"

module Godwit
  # The base class of the tests in work/. FOLDERS is the load path of Ruby child processes.
  class WorkCase < TestCase
    FOLDERS = [
      "lib", "work/lib",
      *Gem.loaded_specs.fetch_values(*(KafkaLog::ON ? %w[sqlite3 ffi] : %w[sqlite3]))
        .flat_map(&:full_require_paths)
    ].freeze
    # Ruby of a child: connects to the log at the URL ARGV[0].
    CONNECT = "Godwit::Work.connect(ARGV[0]#{", **#{KafkaLog::SHORT}" if KafkaLog::ON})"

    # Ruby of a child: runs `runner` until TERM. It prints "ready" when the runner has started.
    RUN = <<~RUBY
      Signal.trap(:TERM) { Thread.new { runner.stop } }
      Thread.new do
        sleep 0.01 until runner.started?
        puts "ready"
        $stdout.flush
      end
      runner.run
    RUBY

    # The words that start the command `godwit-work`.
    GODWIT_WORK = [
      *RUBY, *GEMS[false], "-W", *FOLDERS.map { |folder| "-I#{folder}" }, "work/exe/godwit-work"
    ].freeze

    # Closes the process-wide client of Godwit::Work.
    def teardown
      Work.instance_variable_get(:@client)&.close
      Work.instance_variable_set(:@client, nil)
      super
    end

    def child_folders = FOLDERS

    # On Kafka, skips a slow test whose subject is not the engine, except in bin/test --full.
    def seldom_on_kafka
      skip("on Kafka in bin/test --full") if KafkaLog::ON && !TestSupport::Length.long?
    end

    # @return [String] URL of the log that this test shares with its children
    def url = KafkaLog::ON ? KafkaLog.url : "sqlite:#{File.join(scratch_dir, "work.db")}"

    # @return [Object] an engine on the log at {#url}; on Kafka the log is emptied first
    def shared_engine(**settings)
      return Godwit::Work.const_get(:Connection).open(url) unless KafkaLog::ON
      KafkaLog.clean
      KafkaLog.open(**settings)
    end

    # Runs a `godwit-work` command in this process: a new process takes 0.2 s to start.
    # @param url [String] of the log
    # @return [Array(Integer, String, String)] exit status, standard output, standard error
    def told(*words, url: self.url, input: "")
      ENV["GODWIT_WORK_URL"] = url
      $stdin = StringIO.new(input)
      status = nil
      output, errors = capture_io { status = Work::CLI.run(words) }
      [status, output, errors]
    ensure
      ENV.delete("GODWIT_WORK_URL")
      $stdin = STDIN
    end

    # @return [String] the standard output of a command, which must succeed
    def well(*words, **rest)
      status, output, errors = told(*words, **rest)
      assert_equal [0, ""], [status, errors], words.join(" ")
      output
    end

    # @param calls [Hash{Proc => Regexp}] call => a pattern of the message of the call's error
    def assert_refused(error, calls)
      calls.each do |call, says|
        assert_match says, assert_raises(error, says.inspect, &call).message
      end
    end

    # @param runtime [Symbol] a backend, an engine of Ruby, or :kafka
    def not_on(runtime, reason)
      skip("not on #{runtime}: #{reason}") if runtime == :kafka && KafkaLog::ON
      super
    end
  end
end
