# frozen_string_literal: true

require "test_helper"
require "godwit/work"
require "godwit/work/cli"
require "support/kafka_log"

module Godwit
  # The base of the tests in work/: Ruby children find godwit-work and sqlite3, without Bundler.
  class WorkCase < TestCase
    FOLDERS = [
      "lib", "work/lib",
      *Gem.loaded_specs.fetch_values(*(KafkaLog::ON ? %w[sqlite3 ffi] : %w[sqlite3]))
        .flat_map(&:full_require_paths)
    ].freeze
    # Ruby of a child, whose first argument is {#url}.
    CONNECT = "Godwit::Work.connect(ARGV[0]#{", **#{KafkaLog::SHORT}" if KafkaLog::ON})"

    # Ruby of a child: runs `runner` until TERM, and prints a line when it has joined.
    RUN = <<~RUBY
      Signal.trap(:TERM) { Thread.new { runner.stop } }
      Thread.new do
        sleep 0.01 until runner.started?
        puts "ready"
        $stdout.flush
      end
      runner.run
    RUBY

    # The command `godwit-work`.
    GODWIT_WORK = [
      *RUBY, *GEMS[false], "-W", *FOLDERS.map { |folder| "-I#{folder}" }, "work/exe/godwit-work"
    ].freeze

    # Closes the client of the process.
    def teardown
      Work.instance_variable_get(:@client)&.close
      Work.instance_variable_set(:@client, nil)
      super
    end

    def child_folders = FOLDERS

    # The first line of a test that takes long on Kafka, and whose subject is not the engine.
    def seldom_on_kafka
      skip("on Kafka in bin/test --full") if KafkaLog::ON && !TestSupport::Length.long?
    end

    # @return [String] URL of the log that this test shares with its children
    def url = KafkaLog::ON ? KafkaLog.url : "sqlite:#{File.join(scratch_dir, "work.db")}"

    # @return [Object] the engine of that log, which is empty
    def shared_engine(**settings)
      return Godwit::Work.const_get(:Connection).open(url) unless KafkaLog::ON
      KafkaLog.clean
      KafkaLog.open(**settings)
    end

    # Runs a command in this process, which is quick: a process takes a fifth of a second to start.
    # @param url [String] of the log
    # @return [Array(Integer, String, String)] status, output, errors
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

    # @return [String] the output of a command that succeeds
    def well(*words, **rest)
      status, output, errors = told(*words, **rest)
      assert_equal [0, ""], [status, errors], words.join(" ")
      output
    end

    # @param calls [Hash{Proc => Regexp}] call => what the message of its error must match
    def assert_refused(error, calls)
      calls.each do |call, says|
        assert_match says, assert_raises(error, says.inspect, &call).message
      end
    end

    # @param runtime [Symbol] also :kafka
    def not_on(runtime, reason)
      skip("not on #{runtime}: #{reason}") if runtime == :kafka && KafkaLog::ON
      super
    end
  end
end
