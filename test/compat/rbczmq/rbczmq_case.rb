# frozen_string_literal: true

require "test_helper"
require "godwit/compat/rbczmq"
require "zmq"

module Godwit
  # For tests of ZMQ, the module of Godwit's layer for rbczmq. They run in this process.
  class RbczmqCase < TestCase
    # @return [ZMQ::Context] the test's context
    def ctx
      @ctx ||= ZMQ::Context.new
    end

    # A new inproc endpoint.
    def spot = "inproc://#{TestSupport::Sockets.unique_name}"

    # Opens two sockets, binds the first and connects the second to it.
    def pair(binder, connector, endpoint = spot)
      bound = ctx.bind(binder, endpoint)
      [bound, ctx.connect(connector, endpoint.start_with?("tcp") ? bound.last_endpoint : endpoint)]
    end

    # @return [Array<String>] the bytes of a message's frames
    def data(message) = message.to_a.map(&:data)

    # Returns the standard output of the block.
    def printed(&block) = capture_io(&block).first

    # Asserts that each call, and the block if given, raises the error. A failure names the call's
    # line.
    # @return [Exception] the last error
    def assert_raise(error, *calls, &block)
      [*calls, *block].map { |call| assert_raises(error, call.inspect, &call) }.last
    end

    # Asserts that each call raises the errno, and that the layer prints the caller's file and line.
    def assert_refused(errno, *calls, &block)
      [*calls, *block].map { |call|
        error = nil
        out = printed { error = assert_raises(errno, call.inspect, &call) }
        assert_equal errno, error.class
        assert_match(%r{\ASys error location: \S*test/compat/rbczmq/\S+:\d+\n\z}, out)
        error
      }.last
    end

    def assert_misuse(words, *calls, &block)
      [*calls, *block].map { |call|
        error = assert_raises(ZMQ::Error, call.inspect, &call)
        assert_match words, error.message, call.inspect
        error
      }.last
    end

    # @return [Object] the value of the block, which runs in another thread
    def elsewhere(&block) = in_thread(&block).value

    def teardown
      current = ZMQ.context
      return unless current
      current.linger = 0
      current.destroy
    ensure
      super
    end
  end
end
