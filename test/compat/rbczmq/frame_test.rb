# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqFrameTest < Godwit::RbczmqCase
  GONE = /\ACannot access frame that belongs to another message or is gone\.\z/

  test "size, data, strhex" do
    text = "mess\0ge \u00fc"
    frame = ZMQ::Frame(text)
    assert_equal [10, text.b, text.b, text.b, Encoding::BINARY],
      [frame.size, frame.data, frame.to_s, frame.to_str, frame.data.encoding]
    assert_equal "<#{text}>".b, "<".b + frame + ">".b
    assert_equal [[0, "", ""]] * 3,
      [ZMQ::Frame.new, ZMQ::Frame.new(nil), ZMQ.Frame]
        .map { |one| [one.size, one.data, one.strhex] }
    assert_equal %w[6D657373616765 00FF],
      ["message", "\0\xff".b].map { |one| ZMQ::Frame(one).strhex }
  end

  test "wrong types" do
    frame = ZMQ::Frame("message")
    assert_raise TypeError, -> { ZMQ::Frame.new(:x) }, -> { ZMQ::Frame.new(1) },
      -> { Class.new(ZMQ::Frame).new("x") }, -> { frame.data_equals?(:message) },
      -> { frame == "message" }, -> { frame.eql?(nil) }, -> { frame <=> "z" }, -> { frame > 1 },
      -> { frame.reset(nil) }, -> { frame.print(:x) }
  end

  test "it does not change with the String it was made of, or with its copies" do
    string = +"before"
    frame = ZMQ::Frame(string)
    string.replace("after")
    frame.data << "more"
    [frame.dup, frame.clone].each do |copy|
      refute_same frame, copy
      assert_equal frame, copy
      copy.destroy
    end
    assert_equal "before", frame.data
  end

  test "data_equals? compares as far as the first NUL" do
    {["message", "message"] => true, ["message", "messages"] => false, ["message", "msg"] => false,
     ["message", "message\0and more"] => true, ["a\0b", "a\0b"] => false}.each do |pair, equal|
      assert_equal equal, ZMQ::Frame(pair[0]).data_equals?(pair[1]), pair.inspect
    end
  end

  test "equality is of bytes, order is of size" do
    frame = ZMQ::Frame("message")
    assert_equal frame, ZMQ::Frame("message")
    assert frame.eql?(ZMQ::Frame("message"))
    refute_equal frame, ZMQ::Frame("massage")
    refute frame.eql?(ZMQ::Frame("message "))
    assert_equal frame.hash, ZMQ::Frame("message").hash
    assert_operator frame, :>, ZMQ::Frame("msg")
    assert_equal [0, 1, -1],
      [%w[abc xyz], %w[aaaa z], %w[z aaaa]].map { |one, two| ZMQ::Frame(one) <=> ZMQ::Frame(two) }
  end

  test "reset, print and dump" do
    frame = ZMQ::Frame("before")
    assert_nil frame.reset("message")
    assert_equal ["message", 7], [frame.data, frame.size]
    assert_output("", "[007] message\nprefix [007] message\n[007] message\n[002] 00FF\n") do
      assert_equal [nil] * 3, [frame.print, frame.print("prefix "), frame.dump]
      ZMQ::Frame("\x00\xff".b).print
    end
  end

  test "destroyed" do
    frame = ZMQ::Frame("message")
    refute frame.gone?
    assert_nil frame.destroy
    assert frame.gone?
    assert_equal [nil] * 6,
      [frame.size, frame.data, frame.to_s, frame.to_str, frame.strhex, frame.more?]
    other = ZMQ::Frame("x")
    assert_misuse GONE, -> { frame.destroy }, -> { frame.dup }, -> { frame.data_equals?("x") },
      -> { frame == other }, -> { other == frame }, -> { frame <=> other }, -> { other <=> frame },
      -> { frame.reset("x") }, -> { frame.print }, -> { frame.dump }
    assert_match(/gone/, frame.inspect)
  end

  test "a frame that belongs to a message" do
    message = ZMQ::Message("first")
    frame = message.first
    push, = pair(:PUSH, :PULL)
    assert_misuse GONE, -> { frame.destroy }, -> { push.send_frame(frame) }
    assert_same frame, message.pop
    assert_equal ["first", nil], [frame.data, frame.destroy]
  end
end
