# frozen_string_literal: true

require "support/ports"
require "support/tiny_scheduler"

# Shared by the scenarios of draft_test.rb.
module DraftPairs
  # As in TestCase, for modules of tests.
  module Naming
    def test(sentence, &body) = define_method("test_#{sentence.tr(" ", "_")}", &body)

    def each_transport(name, &body)
      Godwit::TestSupport::Sockets::TRANSPORTS.each do |transport|
        test("#{name} over #{transport}") { instance_exec(transport, &body) }
      end
    end
  end

  # Both ends bound to one another, with the number by which the first knows the second.
  def server_and_client(transport = :tcp, **options)
    server, client = connected_pair(:SERVER, :CLIENT, transport: transport, **options)
    client << "hello"
    id, message = server.recv_from(timeout: 5)
    assert_equal "hello", message
    [server, client, id]
  end

  # A RADIO whose DISH has joined, proved by a message that arrived.
  def radio_and_dish(transport, *groups)
    radio, dish = connected_pair(:RADIO, :DISH, transport: transport)
    dish.join(*groups)
    tune(radio, dish, groups.last)
    [radio, dish]
  end

  # A message sent before the join has reached the RADIO, or before libzmq has bound an udp port, is
  # lost.
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
