# frozen_string_literal: true

# libzmq: test_timeo

require_relative "case"

# The time of each call that waits, beside plain/waits.rb.
class TimeoutsTest < Conformance::Case
  CALLS = {
    recv: ->(socket, **o) { socket.recv(**o) },
    recv_multipart: ->(socket, **o) { socket.recv_multipart(**o) },
    recv_string: ->(socket, **o) { socket.recv_string(**o) },
    recv_many: ->(socket, **o) { socket.recv_many(7, **o) },
    recv_into: ->(socket, **o) { socket.recv_into(+"", **o) },
    send: ->(socket, **o) { socket.send("x", **o) },
    send_many: ->(socket, **o) { socket.send_many(["x"], **o) }
  }.freeze

  CALLS.each do |name, call|
    test "#{name} ends after its time, or the socket's" do
      socket = open_socket(:DEALER).bind(endpoint_for(:tcp))
      assert_takes(0.02) do
        error = assert_named(Godwit::TimeoutError, /Timed out/) { call.call(socket, timeout: 0.02) }
        assert_equal socket.last_endpoint, error.endpoint
      end
      socket.recv_timeout = socket.send_timeout = 0.02
      assert_takes(0.02) { assert_raises(Godwit::TimeoutError) { call.call(socket) } }
      next if name == :send_many
      assert_nil call.call(socket, timeout: 0, exception: false)
      assert_nil call.call(socket, exception: false)
      socket.close
      assert_raises(Godwit::ClosedError) { call.call(socket, timeout: 0, exception: false) }
    end

    test "#{name}: nil is for ever, also where the socket has a time-out; so is a time of many " \
      "years" do
      [nil, Float::INFINITY, 1e300, 10**30].each do |timeout|
        socket =
          open_socket(:DEALER, recv_timeout: 0.001, send_timeout: 0.001).bind(endpoint_for(:inproc))
        waiting = waiting_on(socket) { call.call(socket, timeout: timeout) }
        assert_nil waiting.join(0.01)
        peer = open_socket(:DEALER).connect(socket.last_endpoint)
        peer << "x"
        assert waiting.value
      end
    end
  end

  test "durations of other classes are refused" do
    socket = open_socket(:DEALER).bind(endpoint_for(:tcp))
    calls = [*CALLS.values, ->(one, timeout:) { one.wait_readable(timeout) },
      ->(one, timeout:) { one.wait_writable(timeout) }]
    {-0.001 => ArgumentError, -Float::INFINITY => ArgumentError, false => TypeError,
     [1] => TypeError, Complex(1, 1) => TypeError}.each do |timeout, klass|
      calls.each do |call|
        error = assert_raises(klass, timeout.inspect) { call.call(socket, timeout: timeout) }
        assert_match(/seconds, or nil/, error.message)
      end
    end
    assert_takes(0.03) { assert_nil socket.wait_readable(0.03) }
  end
end
