# frozen_string_literal: true

require "test_helper"

# Sockets that come and go one after the other, each for one message.
class ChurnTest < Godwit::TestCase
  deadline 60

  # What counts the peers of a socket listens by a name of its own, which libzmq may not have let go of yet when the memory of a
  # closed socket is a new one's.
  test "3,000 sockets in a row, each connects, sends and closes" do
    pull = open_socket(:PULL, recv_hwm: 0).bind(endpoint_for(:inproc))
    endpoint = pull.last_endpoint
    count = rounds(3000, stressed: 300)
    count.times { |number| Godwit::PUSH.connect(endpoint, context: context) { |push| push.send(number.to_s) } }
    assert_equal (0...count).map(&:to_s).sort, Array.new(count) { pull.recv(timeout: 5) }.sort
  end
end
