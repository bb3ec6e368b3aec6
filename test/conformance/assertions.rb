# frozen_string_literal: true

require "socket"
require "support/ports"
require_relative "plain/support/helpers"

module Conformance
  # Assertions about errors and durations. They use the public API only, so that any backend can
  # run them.
  module Assertions
    include Plain::Helpers

    # Asserts an error of exactly this class, whose message names the fix.
    # @param says [Regexp] pattern that the message must match
    # @return [Exception]
    def assert_named(klass, says, operation: nil)
      error = assert_raises(klass, says.inspect) { yield }
      assert_instance_of klass, error
      assert_kind_of Godwit::Error, error
      assert_match says, error.message
      assert_equal operation, error.operation if operation
      error
    end

    # Asserts that each call raises its error, as {#assert_named} does.
    # @param mistakes [Hash{Proc => Array}] call => class, says, and the operation or nil
    def assert_mistakes(mistakes)
      mistakes.each do |call, (klass, says, operation)|
        assert_named(klass, says, operation: operation, &call)
      end
    end

    # Like {#assert_named}, for an error that has no class of its own in Godwit's API.
    def assert_system_error(errno_class, says, operation:)
      error = assert_raises(errno_class) { yield }
      assert_kind_of Godwit::Error, error
      assert_kind_of Godwit::SystemError, error
      assert_equal errno_class::Errno, error.errno
      assert_match says, error.message
      assert_equal operation, error.operation
      error
    end

    # Asserts that the block takes at least `least` seconds. A busy machine may take longer.
    def assert_takes(least, &block) = assert_operator(seconds(&block), :>=, least)

    # Repeats the request until it has reached the server, which sends no reply. On a busy machine
    # the time-out may come before libzmq has sent the request, which is then lost.
    # @return [String, Array<String>] the request that the server received
    def ask_without_reply(client, server, request, timeout: 0.2)
      eventually("no request arrived", deadline: 15) do
        assert_raises(Godwit::TimeoutError) { client.request(request, timeout: timeout) }
        server.recv(timeout: 1, exception: false)
      end
    end

    # A tcp port on which no socket listens until the test binds it.
    def free_port = Godwit::TestSupport::Ports.free
  end
end
