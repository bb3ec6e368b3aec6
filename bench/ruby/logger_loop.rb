# frozen_string_literal: true

require "logger"
require_relative "common"

# The loop of godwit_logger and rbczmq_logger: lines into a PUSH whose PULL takes them when the
# clock has stopped.
module LoggerLoop
  module_function

  def run(logger, pull, count)
    write(logger, count / 10)
    result = Common.measure { write(logger, count) }
    received = 0
    received += 1 while received < count / 10 + count && pull.recv
    result
  end

  def write(logger, count)
    written = 0
    while written < count
      logger.info("a line of a log, of the usual length, with a number or two")
      written += 1
    end
    written
  end
end
