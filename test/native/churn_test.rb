# frozen_string_literal: true

require "test_helper"

# Sockets that are made and closed one after the other, each for one message.
class ChurnTest < Godwit::TestCase
  # The monitor that counts a socket's peers has an inproc endpoint, which libzmq may release late.
  # A new socket at the memory address of a closed one must get another endpoint.
  test "3,000 sockets in a row, each connects, sends and closes" do
    pull = open_socket(:PULL, recv_hwm: 0).bind(endpoint_for(:inproc))
    # Until a message is received, libzmq retains the socket that sent it, and that socket's
    # endpoint. A context has room for some 3,000 such sockets.
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
