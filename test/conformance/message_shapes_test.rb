# frozen_string_literal: true

require "test_helper"
require_relative "assertions"

class MessageShapesTest < Godwit::TestCase
  include Conformance::Assertions

  under_gc_stress

  EVERY_BYTE = (0..255).to_a.pack("C*").freeze
  # libzmq keeps up to 33 bytes within the message, more elsewhere.
  SINGLE = {
    "no byte" => "", "one byte" => "x", "a zero byte" => "\0", "33 bytes" => "a" * 33,
    "34 bytes" => "b" * 34, "every byte" => EVERY_BYTE, "8 KiB" => Random.new(1).bytes(8192),
    "255 and 256 bytes" => ["l" * 255, "l" * 256]
  }.freeze
  SEVERAL = {
    "two frames" => %w[a b], "empty ones" => ["", ""], "an empty one first" => ["", "a"],
    "an empty one last" => ["a", ""],
    "sizes around the limit" => ["a" * 33, "b" * 34, "", "c" * 33],
    "a hundred frames" => Array.new(100, &:to_s),
    "binary ones" => [EVERY_BYTE, "\0", EVERY_BYTE.reverse]
  }.freeze

  each_transport("every shape arrives unchanged") do |transport|
    pull, push = connected_pair(:PULL, :PUSH, transport: transport)
    {**SINGLE, **SEVERAL}.each do |name, message|
      push << message
      received = pull.recv(timeout: 5)
      assert_equal message, received, name
      frames = [received].flatten
      frames.each do |frame|
        assert_equal [String, Encoding::BINARY, false],
          [frame.class, frame.encoding, frame.frozen?],
          name
      end
    end
  end

  test "a sent message is left unchanged" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    string, list = +"grüße", [+"a", "b"]
    push << string << list << list.freeze
    assert_equal ["grüße", Encoding::UTF_8, false], [string, string.encoding, string.frozen?]
    refute list.first.frozen?
    assert_equal ["grüße".b, %w[a b], %w[a b]], take(pull, 3)
  end

  test "Strings of all kinds: frozen, shared, of subclasses; Arrays of subclasses" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    long = "0123456789" * 20
    kinds = {
      frozen: "frozen", shared: long[50..], middle: long[30, 100],
      subclass: Class.new(String).new("sub"), symbol: :sym.to_s
    }
    kinds.each do |name, string|
      push << string
      received = pull.recv(timeout: 5)
      assert_equal string.to_s, received, name.to_s
      assert_instance_of String, received
    end
    push << Class.new(Array).new(%w[a b])
    assert_instance_of Array, pull.recv(timeout: 5)
  end
end

# Large messages, apart from the tests that run under GC.stress.
class LargeMessagesTest < Godwit::TestCase
  include Conformance::Assertions

  each_transport("a message larger than all buffers, to a peer that connects late") do |transport|
    endpoint = (transport == :tcp) ? "tcp://127.0.0.1:#{free_port}" : endpoint_for(transport)
    push = open_socket(:PUSH).connect(endpoint)
    large = "y" * (24 << 20)
    push << large
    assert_operator open_socket(:PULL).bind(endpoint).recv(timeout: 10), :==, large
  end
end
