# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqMessageTest < Godwit::RbczmqCase
  under_gc_stress

  GONE = /\ACannot modify a message that is gone\.\z/

  def data(message) = message.to_a.map(&:data)

  test "an empty message" do
    message = ZMQ::Message.new
    assert_equal [0, 0, nil, nil, nil, nil, nil],
      [
        message.size, message.content_size, message.first, message.next, message.last,
        message.pop, message.popstr
      ]
    assert_nil message.unwrap
    assert_equal ["", []], [message.encode, message.to_a]
    refute message.gone?
    assert_includes ZMQ::Message, Comparable
    refute_includes ZMQ::Message.instance_methods(false), :<=>
  end

  test "push and add" do
    message = ZMQ::Message.new
    assert_equal true, message.push(ZMQ::Frame("body"))
    assert_equal true, message.push(ZMQ::Frame("header"))
    assert_equal true, message.add(ZMQ::Frame("end"))
    assert_equal [3, 13, %w[header body end]], [message.size, message.content_size, data(message)]
    assert_raises(TypeError) { message.push("x") }
    assert_raises(TypeError) { message.add(nil) }
  end

  test "pushstr and addstr" do
    message = ZMQ::Message.new
    assert_equal true, message.pushstr("body")
    assert_equal true, message.pushstr("header")
    assert_equal true, message.addstr("end")
    assert_equal %w[header body end], data(message)
    assert_raises(TypeError) { message.pushstr(1) }
    assert_raises(TypeError) { message.addstr(nil) }
  end

  test "pop gives the first, which is the caller's" do
    message = ZMQ::Message("one", "two")
    frame = message.pop
    assert_equal [ZMQ::Frame("one"), 1], [frame, message.size]
    assert_nil frame.destroy
    assert_equal "two", message.popstr
    assert_nil message.pop
  end

  test "popstr is cut at the first NUL" do
    message = ZMQ::Message("ab\0cd", "", "\xff".b)
    assert_equal ["ab", "", "\xff".b, nil], Array.new(4) { message.popstr }
  end

  test "first, next, last" do
    message = ZMQ::Message("a", "b", "c")
    assert_equal %w[a b c], Array.new(3) { message.next.data }
    assert_nil message.next
    assert_equal "a", message.next.data
    assert_equal "c", message.last.data
    assert_nil message.next
    assert_equal ["a", "b"], [message.first.data, message.next.data]
    message.addstr("d")
    assert_equal "a", message.next.data
    assert_equal message.to_a.first, message.first
    assert_same message.to_a.first, message.first
  end

  test "remove" do
    header = ZMQ::Frame("header")
    body = ZMQ::Frame("body")
    message = ZMQ::Message.new
    message.push(header)
    message.add(body)
    assert_nil message.remove(body)
    assert_equal ["header"], data(message)
    assert_nil message.remove(ZMQ::Frame("header"))
    assert_equal 1, message.size
    assert_nil body.destroy
    assert_raises(TypeError) { message.remove("header") }
  end

  test "wrap and unwrap" do
    message = ZMQ::Message("body")
    address = ZMQ::Frame("address")
    assert_nil message.wrap(address)
    assert_equal ["address", "", "body"], data(message)
    assert_same address, message.unwrap
    assert_equal ["body"], data(message)
    assert_equal "body", message.unwrap.data
    assert_nil message.unwrap
    assert_raises(TypeError) { message.wrap("address") }
  end

  test "a frame belongs to one message, once" do
    frame = ZMQ::Frame("x")
    message = ZMQ::Message.new
    message.add(frame)
    [-> { message.add(frame) }, -> { message.push(frame) }, -> { message.wrap(frame) },
      -> { ZMQ::Message.new.add(frame) }].each do |call|
      assert_misuse(/in a message already/, &call)
    end
    assert_equal 1, message.size
    other = ZMQ::Message.new
    other.add(message.pop)
    assert_equal ["x"], data(other)
    gone = ZMQ::Frame("y")
    gone.destroy
    assert_misuse(/gone/) { message.add(gone) }
  end

  test "dup" do
    message = ZMQ::Message("a", "b")
    copy = message.dup
    assert_equal message, copy
    refute_same message.first, copy.first
    copy.pop
    assert_equal [2, 1], [message.size, copy.size]
  end

  test "equality" do
    message = ZMQ::Message("header", "body")
    assert_equal message, message
    assert message.eql?(ZMQ::Message("header", "body"))
    refute_equal message, ZMQ::Message("body", "header")
    refute message.eql?(ZMQ::Message("header"))
    assert_raises(TypeError) { message == "header" }
    assert_raises(TypeError) { message.eql?(nil) }
  end

  test "encode and decode" do
    assert_equal "\x06header\x04body".b, ZMQ::Message("header", "body").encode
    long = "x" * 255
    encoded = ZMQ::Message(long, "").encode
    assert_equal "\xff\0\0\0\xff".b + long + "\0".b, encoded
    assert_equal [long, ""], data(ZMQ::Message.decode(encoded))
    assert_equal %w[header body], data(ZMQ::Message.decode("\x06header\x04body"))
    assert_equal 0, ZMQ::Message.decode("").size
    assert_nil ZMQ::Message.decode("tainted")
    assert_nil ZMQ::Message.decode("\xff\0\0".b)
    assert_raises(TypeError) { ZMQ::Message.decode(nil) }
  end

  test "print" do
    assert_output("", /\[001\] a\n\[002\] bc\n/) { assert_nil ZMQ::Message("a", "bc").print }
  end

  test "destroyed" do
    message = ZMQ::Message("a", "b")
    frame = message.first
    assert_nil message.destroy
    assert message.gone?
    assert frame.gone?
    assert_equal [nil] * 7,
      [
        message.size, message.content_size, message.first, message.next, message.last,
        message.encode, message.print
      ]
    other = ZMQ::Frame("x")
    [-> { message.destroy }, -> { message.push(other) }, -> { message.add(other) },
      -> { message.pushstr("x") }, -> { message.addstr("x") },
      -> { message.pop }, -> { message.popstr }, -> { message.remove(other) },
      -> { message.wrap(other) }, -> { message.unwrap }, -> { message.dup },
      -> { message == ZMQ::Message.new }, -> { message.eql?(message) },
      -> { message.to_a }].each do |call|
      assert_match GONE, assert_raises(TypeError, &call).message
    end
    assert_nil other.message
    assert_match(/gone/, message.inspect)
  end
end
