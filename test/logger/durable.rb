# frozen_string_literal: true

require "test_helper"
require_relative "constants"
require_relative "made_records"

module LoggerTests
  # A durable logger and a receiver that writes app.log.
  module Durable
    include Godwit::TestSupport::Constants
    include MadeRecords

    Receiver = Godwit::Logger::Receiver
    Sink = Godwit::Logger::Sink

    def file = File.join(scratch_dir, "app.log")

    def folder = File.join(scratch_dir, "durable")

    def lines = File.exist?(file) ? File.readlines(file, chomp: true) : []

    def texts = lines.map { |line| line[/: (.*)\z/, 1] || line }

    # The value of this key in each line of a JSON file.
    def values(key) = lines.map { |line| JSON.parse(line).fetch(key) }

    def open_receiver(endpoint = endpoint_for(:tcp), sink: {}, **options)
      @receiver =
        keep(Receiver.new(endpoint, keep(Sink.new(file, **sink)), context: context, **options))
    end

    def open_log(endpoint = @receiver.last_endpoint, **options)
      logger(endpoint, durable: folder, progname: "billing", reconnect_interval: 0.01, **options)
    end

    def logger(endpoint, **options) = keep(Godwit::Logger.new(endpoint, linger: 0, **options))

    # The writer that the logger uses in this process.
    def writer_of(log) = log.instance_variable_get(:@handle).current

    # An endpoint without a listener.
    def nowhere = @nowhere ||= endpoint_for(:ipc_file)

    # Closes loggers and receivers, the last opened first. Hides their lines about unsent records.
    def teardown
      (@to_close || []).reverse_each { |one| capture_io { one.close } }
      super
    end

    def keep(closable)
      (@to_close ||= []) << closable
      closable
    end

    def assert_flushed(log)
      assert log.flush(timeout: 10), log.stats.inspect
    end
  end
end
