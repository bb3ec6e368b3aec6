# frozen_string_literal: true

require "support/ports"

# Pairs of draft sockets.
module DraftPairs
  # A bound SERVER and its CLIENT, with the routing id by which the SERVER knows the CLIENT.
  def server_and_client(transport = :tcp, **options)
    server, client = connected_pair(:SERVER, :CLIENT, transport: transport, **options)
    client << "hello"
    id, message = server.recv_from(timeout: 5)
    assert_equal "hello", message
    [server, client, id]
  end

  # A RADIO and a DISH that has joined the groups. A message of the last group proves all joins.
  def radio_and_dish(transport, *groups)
    radio, dish = connected_pair(:RADIO, :DISH, transport: transport)
    dish.join(*groups)
    tune(radio, dish, groups.last)
    [radio, dish]
  end

  # Sends until the DISH receives. libzmq drops a message that is sent before the join has reached
  # the RADIO, or before an udp port is bound.
  def tune(radio, dish, group)
    eventually do
      radio.send("tune", group: group)
      dish.recv(timeout: 0.02, exception: false)
    end
    radio.send("tuned", group: group)
    eventually { dish.recv(timeout: 5) == "tuned" }
  end

  def udp_port = Godwit::TestSupport::Ports.free(socket: UDPSocket)
end
