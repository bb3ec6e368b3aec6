# frozen_string_literal: true

require "test_helper"

# Sockets that come and go one after the other, each for one message.
class ChurnTest < Godwit::TestCase
  # What counts the peers of a socket listens by a name of its own, which libzmq may not have let go
  # of yet when the memory of a closed socket is a new one's.
  test "3,000 sockets in a row, each connects, sends and closes" do
    pull = open_socket(:PULL, recv_hwm: 0).bind(endpoint_for(:inproc))
    # What nobody has received keeps its sender's socket and name in libzmq, which has room for some
    # 3,000.
    got = Array.new(rounds(15, stressed: 2)) do |round|
      200.times do |number|
        Godwit::PUSH.connect(pull.last_endpoint, context: context) do |push|
          push.send("#{round}.#{number}")
        end
      end
      Array.new(200) { pull.recv(timeout: 5) }
    end
    assert_equal got
      .each_index
      .flat_map { |round| Array.new(200) { |number| "#{round}.#{number}" } }
      .sort,
      got.flatten.sort
  end
end
