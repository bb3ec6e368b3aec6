# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqMessageTest < Godwit::RbczmqCase
  test "an empty message" do
    message = ZMQ::Message.new
    assert_equal [0, 0, *[nil] * 6, "", [], false],
      [
        message.size, message.content_size, message.first, message.next, message.last, message.pop,
        message.popstr, message.unwrap, message.encode, message.to_a, message.gone?
      ]
    assert_equal 0, ZMQ.Message.size
    assert_includes ZMQ::Message, Comparable
    refute_includes ZMQ::Message.instance_methods(false), :<=>
  end

  test "wrong types" do
    message = ZMQ::Message("header")
    assert_raise TypeError, -> { ZMQ::Message("a", 1) }, -> { message.push("x") },
      -> { message.add(nil) }, -> { message.pushstr(1) }, -> { message.addstr(nil) },
      -> { message.remove("header") }, -> { message.wrap("address") }, -> { message == "header" },
      -> { message.eql?(nil) }, -> { ZMQ::Message.decode(nil) }
    assert_equal ["header"], data(message)
  end

  test "push and add, pushstr and addstr" do
    frames = ZMQ::Message.new
    assert_equal [true] * 3,
      [
        frames.push(ZMQ::Frame("body")), frames.push(ZMQ::Frame("header")),
        frames.add(ZMQ::Frame("end"))
      ]
    assert_equal [3, 13, %w[header body end]], [frames.size, frames.content_size, data(frames)]
    strings = ZMQ::Message.new
    assert_equal [true] * 3,
      [strings.pushstr("body"), strings.pushstr("header"), strings.addstr("end")]
    assert_equal frames, strings
  end

  test "pop gives the first, which is the caller's; popstr is cut at the first NUL" do
    message = ZMQ::Message("one", "ab\0cd", "", "\xff".b)
    frame = message.pop
    assert_equal [ZMQ::Frame("one"), 3], [frame, message.size]
    assert_nil frame.destroy
    assert_equal ["ab", "", "\xff".b, nil], Array.new(4) { message.popstr }
    assert_nil message.pop
  end

  test "first, next, last" do
    message = ZMQ::Message("a", "b", "c")
    assert_equal %w[a b c], Array.new(3) { message.next.data }
    assert_equal [nil, "a", "c", nil, "a", "b"],
      %i[next next last next first next].map { |name| message.public_send(name)&.data }
    message.addstr("d")
    assert_equal "a", message.next.data
    assert_same message.to_a.first, message.first
  end

  test "remove" do
    body = ZMQ::Frame("body")
    message = ZMQ::Message("header")
    message.add(body)
    assert_nil message.remove(body)
    assert_nil message.remove(ZMQ::Frame("header"))
    assert_equal ["header"], data(message)
    assert_nil body.destroy
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
  end

  test "a frame belongs to one message, once" do
    frame = ZMQ::Frame("x")
    message = ZMQ::Message.new
    message.add(frame)
    assert_misuse(/in a message already/, -> { message.add(frame) }, -> { message.push(frame) },
      -> { message.wrap(frame) }, -> { ZMQ::Message.new.add(frame) })
    assert_equal 1, message.size
    other = ZMQ::Message.new
    other.add(message.pop)
    assert_equal ["x"], data(other)
    gone = ZMQ::Frame("y")
    gone.destroy
    assert_misuse(/gone/) { message.add(gone) }
  end

  test "dup and equality" do
    message = ZMQ::Message("header", "body")
    copy = message.dup
    assert_equal message, copy
    assert message.eql?(copy)
    refute_same message.first, copy.first
    copy.pop
    assert_equal [2, 1], [message.size, copy.size]
    assert_equal message, message
    refute_equal message, ZMQ::Message("body", "header")
    refute message.eql?(ZMQ::Message("header"))
  end

  test "encode and decode" do
    long = "x" * 255
    {%w[header body] => "\x06header\x04body".b, [long, ""] => "\xff\0\0\0\xff#{long}\0".b, [] => ""}
      .each do |frames, encoded|
        assert_equal encoded, ZMQ::Message(*frames).encode
        assert_equal frames, data(ZMQ::Message.decode(encoded))
      end
    assert_equal [nil, nil], ["tainted", "\xff\0\0".b].map { |text| ZMQ::Message.decode(text) }
  end

  test "print" do
    assert_output("", /\[001\] a\n\[002\] bc\n/) { assert_nil ZMQ::Message("a", "bc").print }
  end

  test "destroyed" do
    message = ZMQ::Message("a", "b")
    frame = message.first
    assert_nil message.destroy
    assert_equal [true, true], [message.gone?, frame.gone?]
    assert_equal [nil] * 7,
      [
        message.size, message.content_size, message.first, message.next, message.last,
        message.encode, message.print
      ]
    other = ZMQ::Frame("x")
    [-> { message.destroy }, -> { message.push(other) }, -> { message.add(other) },
      -> { message.pushstr("x") }, -> { message.addstr("x") }, -> { message.pop },
      -> { message.popstr }, -> { message.remove(other) }, -> { message.wrap(other) },
      -> { message.unwrap }, -> { message.dup }, -> { message == ZMQ::Message.new },
      -> { message.eql?(message) }, -> { message.to_a }].each do |call|
      assert_equal "Cannot modify a message that is gone.", assert_raise(TypeError, call).message
    end
    assert_nil other.message
    assert_match(/gone/, message.inspect)
  end

  test "messages that are sent empty, popped and compared leave nothing behind" do
    not_on :jruby, "GC.start collects nothing there"
    rounds(2_000, stressed: 20).times do
      message = ZMQ::Message("a" * 1000, "b\0c")
      message.eql?(message.dup)
      message.first.strhex
      message.popstr
      message.popstr
    end
    GC.start
    refute_operator ObjectSpace.each_object(ZMQ::Frame).count, :>, 500
  end
end
