# frozen_string_literal: true

require_relative "librdkafka"
require "ffi"

# librdkafka's function for tests of fatal errors.
module FatalError
  extend ::FFI::Library

  ffi_lib ENV.fetch("GODWIT_LIBRDKAFKA")
  attach_function :rd_kafka_test_fatal_error, %i[pointer int string], :int

  # @param pointer [FFI::Pointer] of a producer
  # @param code [Integer] librdkafka's
  def self.of(pointer, code) = rd_kafka_test_fatal_error(pointer, code, "a test's")
end
