# frozen_string_literal: true

# libzmq: test_timeo

require "test_helper"
require_relative "assertions"

class TimeoutsTest < Godwit::TestCase
  include Conformance::Assertions

  # Calls that wait on a socket that receives nothing and accepts nothing.
  RECEIVING = {
    recv: ->(socket, **o) { socket.recv(**o) },
    recv_multipart: ->(socket, **o) { socket.recv_multipart(**o) },
    recv_string: ->(socket, **o) { socket.recv_string(**o) },
    recv_many: ->(socket, **o) { socket.recv_many(7, **o) },
    recv_into: ->(socket, **o) { socket.recv_into(+"", **o) }
  }.freeze
  SENDING = {
    send: ->(socket, **o) { socket.send("x", **o) },
    send_many: ->(socket, **o) { socket.send_many(["x"], **o) }
  }.freeze
  CALLS = {**RECEIVING, **SENDING}.freeze
  WITHOUT_EXCEPTION = (CALLS.keys - [:send_many]).freeze

  def deaf = open_socket(:DEALER).bind(endpoint_for(:tcp))

  CALLS.each do |name, call|
    test "#{name}: TimeoutError is raised after the given time" do
      socket = deaf
      assert_takes(0.02) do
        error = assert_named(Godwit::TimeoutError, /Timed out/) { call.call(socket, timeout: 0.02) }
        assert_kind_of Errno::ETIMEDOUT, error
        assert_predicate error, :retriable?
        assert_equal socket.last_endpoint, error.endpoint
        assert_match(/\A(send|recv)/, error.operation.to_s)
      end
    end

    test "#{name}: an invalid duration is refused, and the socket stays usable" do
      pair = connected_pair(:DEALER, :DEALER, transport: :inproc)
      {-1 => ArgumentError, -0.001 => ArgumentError, Float::NAN => ArgumentError,
       -Float::INFINITY => ArgumentError,
       "1" => TypeError, :forever => TypeError, false => TypeError, [1] => TypeError,
       Complex(1, 1) => TypeError}.each do |timeout, klass|
        error = assert_raises(klass, timeout.inspect) { call.call(pair.first, timeout: timeout) }
        assert_match(/seconds, or nil/, error.message)
      end
      refute_predicate pair.last, :readable?
      assert_flows(*pair)
    end

    test "#{name}: the socket's own time-out is the default" do
      socket = deaf
      socket.recv_timeout = socket.send_timeout = 0.02
      assert_takes(0.02) { assert_raises(Godwit::TimeoutError) { call.call(socket) } }
      socket.recv_timeout = socket.send_timeout = 0
      assert_raises(Godwit::TimeoutError) { call.call(socket) }
    end

    test "#{name}: nil is for ever, also where the socket has a time-out; so is a time of many " \
      "years" do
      [nil, Float::INFINITY, 1e300, 10**30].each do |timeout|
        socket =
          open_socket(:DEALER, recv_timeout: 0.001, send_timeout: 0.001).bind(endpoint_for(:inproc))
        waiting = in_thread { call.call(socket, timeout: timeout) }
        until_waiting(socket)
        assert_nil waiting.join(0.01)
        peer = open_socket(:DEALER).connect(socket.last_endpoint)
        peer << "x"
        assert waiting.value
      end
    end
  end

  WITHOUT_EXCEPTION.each do |name|
    test "#{name}: nil instead of the error when that is asked for" do
      socket = deaf
      assert_nil CALLS[name].call(socket, timeout: 0, exception: false)
      assert_nil CALLS[name].call(socket, timeout: 0.01, exception: false)
      socket.recv_timeout = socket.send_timeout = 0.01
      assert_nil CALLS[name].call(socket, exception: false)
      socket.close
      assert_raises(Godwit::ClosedError) { CALLS[name].call(socket, timeout: 0, exception: false) }
    end
  end

  test "a message in time ends the wait" do
    a, b = connected_pair(:DEALER, :DEALER)
    waiting = in_thread { a.recv(timeout: HANG) }
    until_waiting(a)
    b << "x"
    assert_equal "x", waiting.value
  end

  test "wait_readable and wait_writable return nil when time is up, and refuse invalid durations" do
    socket = deaf
    %i[wait_readable wait_writable].each do |wait|
      assert_nil socket.public_send(wait, 0)
      assert_takes(0.03) { assert_nil socket.public_send(wait, 0.03) }
      {-1 => ArgumentError, Float::NAN => ArgumentError, "1" => TypeError}.each do |timeout, klass|
        assert_raises(klass) { socket.public_send(wait, timeout) }
      end
    end
  end
end
