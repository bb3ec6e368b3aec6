# frozen_string_literal: true

# libzmq: test_bind_after_connect_tcp, test_inproc_connect

require_relative "case"

# The Strings that are sent and received, beside plain/shapes.rb.
class MessageShapesTest < Conformance::Case
  test "Strings of all kinds: frozen, shared, of subclasses; Arrays of subclasses" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    long = "0123456789" * 20
    ["frozen", long[50..], long[30, 100], Class.new(String).new("sub"), :sym.to_s].each do |string|
      push << string
      received = pull.recv(timeout: 5)
      assert_equal string.to_s, received
      assert_equal [String, Encoding::BINARY, false],
        [received.class, received.encoding, received.frozen?]
    end
    list = [+"a", "b"]
    push << Class.new(Array).new(list) << list << list.freeze
    assert_instance_of Array, pull.recv(timeout: 5)
    refute list.first.frozen?
    assert_equal [%w[a b], %w[a b]], take(pull, 2)
  end

  each_transport("a message larger than all buffers, to a peer that connects late") do |transport|
    endpoint = (transport == :tcp) ? "tcp://127.0.0.1:#{free_port}" : endpoint_for(transport)
    push = open_socket(:PUSH).connect(endpoint)
    large = "y" * (24 << 20)
    push << large
    assert_operator open_socket(:PULL).bind(endpoint).recv(timeout: 10), :==, large
  end
end
