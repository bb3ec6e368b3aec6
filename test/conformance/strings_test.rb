# frozen_string_literal: true

# libzmq: test_bind_after_connect_tcp, test_inproc_connect

require_relative "case"

# Strings that are sent and received, in forms that plain/shapes.rb does not have, and encodings.
class StringsTest < Conformance::Case
  test "Strings of all kinds and encodings, byte for byte: frozen, shared, of subclasses; Arrays " \
    "of subclasses" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    long = "0123456789" * 20
    ["frozen", long[50..], long[30, 100], Class.new(String).new("sub"), :sym.to_s, "grüße",
      "grüße".encode("UTF-16LE"), "grüße".encode("ISO-8859-1"), "\xff\xfe"].each do |string|
      push << string << [string, "x"]
      received, (first,) = take(pull, 2)
      assert_equal [string.b, string.b], [received, first]
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

  def pair(**options) = connected_pair(:PULL, :PUSH, transport: :inproc, bind_options: options)

  test "encoding: is put on all that is received, and converts nothing" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc,
      bind_options: {encoding: "UTF-8"}, connect_options: {encoding: "UTF-16LE"})
    bytes = "gr\xC3\xBC\xFF".b
    6.times { push << "grüße" }
    push << ["ä", bytes]
    received = [
      pull.recv(timeout: 5), pull.recv_string(timeout: 5), pull.recv_nonblock, *pull.recv_multipart,
      *pull.recv_many(1)
    ]
    assert_equal 7, pull.recv_into(buffer = +"".b, timeout: 5)
    assert_equal ["grüße"] * 6, [*received, buffer]
    assert_equal Encoding::UTF_8, buffer.encoding
    first, second = pull.recv(timeout: 5)
    assert_equal "ä", first
    assert_equal [Encoding::UTF_8, bytes, false],
      [second.encoding, second.b, second.valid_encoding?]
  end

  test "encoding= changes it, nil in the constructor is binary" do
    pull, push = pair(encoding: nil)
    assert_equal Encoding::BINARY, pull.encoding
    {"ISO-8859-1" => Encoding::ISO_8859_1, Encoding::UTF_16LE => Encoding::UTF_16LE,
     "binary" => Encoding::BINARY}.each do |given, encoding|
      pull.encoding = given
      assert_equal encoding, pull.encoding
      push << "a\0"
      assert_equal encoding, pull.recv(timeout: 5).encoding
    end
  end

  test "an unknown encoding is refused, and no socket is left open" do
    pull, push = pair
    {"klingon" => Godwit::ArgumentValueError, 5 => Godwit::ArgumentTypeError}.each do |wrong, klass|
      says = /encoding: takes an Encoding.*#{wrong}/
      assert_named(klass, says) { open_socket(:PULL, encoding: wrong) }
      assert_named(klass, says) { pull.encoding = wrong }
    end
    assert_equal Encoding::BINARY, pull.encoding
    assert_flows(push, pull)
  end
end
