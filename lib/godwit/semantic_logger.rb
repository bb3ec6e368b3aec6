# frozen_string_literal: true

require "semantic_logger"
require_relative "../godwit"
require_relative "logger"

# The module of the gem semantic_logger, which docs/logging.md uses.
module SemanticLogger
  # The gem looks for its appenders in this module.
  module Appender
    # Sends what semantic_logger logs as records of a {::Godwit::Logger}. semantic_logger finds
    # this class by its name:
    #
    #     require "godwit/semantic_logger"
    #     SemanticLogger.add_appender(appender: :godwit, endpoint: "tcp://loghost:7000")
    #
    # A record's program is the application, or else the name of the class that logs. Tags remain
    # tags, and exceptions exceptions. The payload is the given one, with `name`, `thread`,
    # `duration_ms`, `named_tags` and `metric` if present. Level trace becomes debug. The record's
    # time is when the appender gets the message, a moment after the call.
    #
    # **Threads**: semantic_logger calls the appender from one thread of its own. **Fork**: the
    # child's first record starts a writer of its own.
    class Godwit < Subscriber
      # The levels of semantic_logger as the numbers of Ruby's Logger.
      LEVELS = {trace: 0, debug: 0, info: 1, warn: 2, error: 3, fatal: 4}.freeze
      # Options of semantic_logger's Subscriber.
      OWN = %i[level formatter filter application environment metrics].freeze
      TEXT = ::Godwit::Logger.const_get(:Text)
      private_constant :LEVELS, :OWN, :TEXT

      # @param endpoint [String] see {::Godwit::Logger#initialize}
      # @param options [Hash] `level:`, `filter:`, `application:`… as every appender has them; a
      #   `formatter:` makes the text. All others are those of {::Godwit::Logger}:
      #   `linger:`, `overflow:`, `durable:`, `curve:`…
      # @raise [::Godwit::Error] as {::Godwit::Logger#initialize}
      def initialize(endpoint:, **options, &block)
        own, others = options.partition { |name, _| OWN.include?(name) }.map(&:to_h)
        @formatted = !(own[:formatter] || block).nil?
        @records = ::Godwit::Logger.new(endpoint, **others)
        super(host: others[:host], **own, &block)
      end

      # @param log [SemanticLogger::Log]
      # @return [Boolean]
      def log(log) = @records.tagged(*log.tags) { add(log) }
      # Waits until all records have been handed to libzmq.
      # @return [Boolean]
      def flush = @records.flush
      # Sends the queued records, for linger seconds at most.
      # @return [nil]
      def close = @records.close
      # @return [::Godwit::Logger::Stats]
      def stats = @records.stats

      private

      def add(log)
        text = @formatted ? formatter.call(log, self) : text(log)
        @records.add(LEVELS.fetch(log.level), text, application || log.name, payload(log))
      end

      # The text of a record. An exception that is logged without a message gives the text.
      def text(log)
        return log.message.to_s unless log.message.nil? && log.exception
        TEXT.title(log.exception)
      end

      def payload(log)
        given = log.payload.is_a?(Hash) ? log.payload : {payload: log.payload}
        named_tags = log.named_tags unless log.named_tags.nil? || log.named_tags.empty?
        error = log.exception ? {exception: log.exception} : {}
        {**given, **error, name: log.name, thread: log.thread_name, duration_ms: log.duration,
         metric: log.metric, named_tags: named_tags}.compact
      end
    end
  end
end
