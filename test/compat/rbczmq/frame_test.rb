# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqFrameTest < Godwit::RbczmqCase
  under_gc_stress

  GONE = /\ACannot access frame that belongs to another message or is gone\.\z/

  test "new" do
    assert_equal [0, ""], [ZMQ::Frame.new.size, ZMQ::Frame.new.data]
    assert_equal "", ZMQ::Frame.new(nil).data
    assert_equal "message", ZMQ::Frame.new("message").data
    assert_raises(TypeError) { ZMQ::Frame.new(:x) }
    assert_raises(TypeError) { ZMQ::Frame.new(1) }
    assert_raises(TypeError) { Class.new(ZMQ::Frame).new("x") }
  end

  test "it does not change with the String it was made of" do
    string = +"before"
    frame = ZMQ::Frame(string)
    string.replace("after")
    frame.data << "more"
    assert_equal "before", frame.data
  end

  test "size and data" do
    frame = ZMQ::Frame("mess\0ge \u00fc")
    assert_equal 10, frame.size
    assert_equal ["mess\0ge \u00fc".b] * 3, [frame.data, frame.to_s, frame.to_str]
    assert_equal Encoding::BINARY, frame.data.encoding
    assert_equal "<mess\0ge \u00fc>".b, "<".b + frame + ">".b
  end

  test "strhex" do
    assert_equal "6D657373616765", ZMQ::Frame("message").strhex
    assert_equal "00FF", ZMQ::Frame("\x00\xff".b).strhex
    assert_equal "", ZMQ::Frame.new.strhex
  end

  test "dup and clone" do
    frame = ZMQ::Frame("message")
    [frame.dup, frame.clone].each do |copy|
      refute_same frame, copy
      assert_equal frame, copy
      copy.destroy
    end
    assert_equal "message", frame.data
  end

  test "data_equals? looks as far as the first NUL" do
    frame = ZMQ::Frame("message")
    assert frame.data_equals?("message")
    refute frame.data_equals?("messages")
    refute frame.data_equals?("msg")
    assert frame.data_equals?("message\0and more")
    refute ZMQ::Frame("a\0b").data_equals?("a\0b")
    assert_raises(TypeError) { frame.data_equals?(:message) }
  end

  test "equality is of bytes, and with frames only" do
    frame = ZMQ::Frame("message")
    assert_equal frame, ZMQ::Frame("message")
    assert frame.eql?(ZMQ::Frame("message"))
    refute_equal frame, ZMQ::Frame("massage")
    refute frame.eql?(ZMQ::Frame("message "))
    assert_equal frame.hash, ZMQ::Frame("message").hash
    assert_raises(TypeError) { frame == "message" }
    assert_raises(TypeError) { frame.eql?(nil) }
  end

  test "order is of size" do
    assert_operator ZMQ::Frame("message"), :>, ZMQ::Frame("msg")
    assert_operator ZMQ::Frame("msg"), :<, ZMQ::Frame("message")
    assert_equal 0, ZMQ::Frame("abc") <=> ZMQ::Frame("xyz")
    assert_equal 1, ZMQ::Frame("aaaa") <=> ZMQ::Frame("z")
    assert_equal(-1, ZMQ::Frame("z") <=> ZMQ::Frame("aaaa"))
    assert_raises(TypeError) { ZMQ::Frame("z") <=> "z" }
    assert_raises(TypeError) { ZMQ::Frame("z") > 1 }
  end

  test "reset" do
    frame = ZMQ::Frame("message")
    assert_nil frame.reset("msg")
    assert_equal ["msg", 3], [frame.data, frame.size]
    assert_raises(TypeError) { frame.reset(nil) }
  end

  test "print and dump" do
    frame = ZMQ::Frame("message")
    assert_output("", "[007] message\n") { assert_nil frame.print }
    assert_output("", "prefix [007] message\n") { assert_nil frame.print("prefix ") }
    assert_output("", "[007] message\n") { assert_nil frame.dump }
    assert_output("", "[002] 00FF\n") { ZMQ::Frame("\x00\xff".b).print }
    assert_raises(TypeError) { frame.print(:x) }
  end

  test "destroyed" do
    frame = ZMQ::Frame("message")
    refute frame.gone?
    assert_nil frame.destroy
    assert frame.gone?
    assert_equal [nil] * 6,
      [frame.size, frame.data, frame.to_s, frame.to_str, frame.strhex, frame.more?]
    other = ZMQ::Frame("x")
    [
      -> { frame.destroy }, -> { frame.dup }, -> { frame.data_equals?("x") }, -> { frame == other },
      -> { other == frame }, -> { frame <=> other }, -> { other <=> frame },
      -> { frame.reset("x") }, -> { frame.print }, -> { frame.dump }
    ].each { |call| assert_misuse(GONE, &call) }
    assert_match(/gone/, frame.inspect)
  end

  test "a frame that belongs to a message" do
    message = ZMQ::Message("first")
    frame = message.first
    assert_equal "first", frame.data
    assert_misuse(GONE) { frame.destroy }
    push, = pair(:PUSH, :PULL)
    assert_misuse(GONE) { push.send_frame(frame) }
    assert_same frame, message.pop
    assert_nil frame.destroy
  end
end
