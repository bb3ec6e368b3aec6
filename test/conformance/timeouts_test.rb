# frozen_string_literal: true

# libzmq: test_timeo

require_relative "case"

# Calls that wait for ever. plain/waits.rb tests calls that time out.
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
end
