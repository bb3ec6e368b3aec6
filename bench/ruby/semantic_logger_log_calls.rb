# frozen_string_literal: true

# semantic_logger_log_calls.rb COUNT PATH: semantic_logger to a file.
require_relative "log_loop"
require "semantic_logger"

SemanticLogger.add_appender(file_name: ARGV[1])
log = SemanticLogger["billing"]
result =
  SemanticLogger.tagged("req-9") do
    LogLoop.run(log, Integer(ARGV[0]), true) { SemanticLogger.flush }
  end
Common.say(program: "semantic_logger_log_calls", **result)
