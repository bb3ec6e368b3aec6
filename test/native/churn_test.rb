# frozen_string_literal: true

require "test_helper"

# Sockets that are made and closed one after the other, each for one message.
class ChurnTest < Godwit::TestCase
  # The counter of a socket's peers listens on its own name. libzmq may not have released that name
  # yet when a new socket gets the memory of a closed one.
  test "3,000 sockets in a row, each connects, sends and closes" do
    pull = open_socket(:PULL, recv_hwm: 0).bind(endpoint_for(:inproc))
    # Until a message is received, libzmq retains its sender's socket and name. libzmq has room for
    # some 3,000.
    got = Array.new(rounds(15, stressed: 2)) do |round|
      200.times do |number|
        Godwit::PUSH.connect(pull.last_endpoint, context: context) do |push|
          push.send("#{round}.#{number}")
        end
      end
      Array.new(200) { pull.recv(timeout: 5) }
    end
    sent = got.each_index.flat_map { |round| Array.new(200) { |number| "#{round}.#{number}" } }
    assert_equal sent.sort, got.flatten.sort
  end
end
