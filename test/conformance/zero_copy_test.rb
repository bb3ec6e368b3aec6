# frozen_string_literal: true

# libzmq: test_msg_ffn

require_relative "case"

# Frozen Strings that libzmq sends without a copy, and their Trackers.
class ZeroCopyTest < Conformance::Case
  LARGE = 1 << 20

  def large(byte = "x") = (byte * LARGE).freeze

  each_transport("a large frozen String arrives whole, and the tracker reports when it is " \
    "free") do |transport|
    pull, push = connected_pair(:PULL, :PUSH, transport: transport)
    tracker = push.send(large, track: true)
    assert_instance_of Godwit::Tracker, tracker
    assert_equal large, pull.recv(timeout: 5)
    assert tracker.wait(5)
    assert_predicate tracker, :done?
    assert_match(/done/, tracker.inspect)
  end

  test "it waits for every part of a message" do
    not_on :ffi, "every String is copied when it is sent, so its tracker is done at once"
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    tracker = push.send([large("a"), "small", large("b")], track: true)
    message = pull.recv_message(timeout: 5)
    message[0].close
    assert_equal [false, false, false], [tracker.done?, tracker.wait(0), tracker.wait(0.01)]
    assert_match(/pending/, tracker.inspect)
    message[2].close
    assert_predicate tracker, :done?
    assert tracker.wait
  end

  test "copy_threshold, by socket" do
    not_on :ffi, "every String is copied when it is sent, so its tracker is done at once"
    assert_equal Godwit::Frame::COPY_THRESHOLD, open_socket(:PUSH).copy_threshold
    # A threshold above 640 bytes: newer Rubies embed Strings of up to 640 bytes, and Godwit copies
    # every embedded String.
    push = open_socket(:PUSH, copy_threshold: 1000, linger: 0).connect("tcp://127.0.0.1:1")
    assert_equal 1000, push.copy_threshold
    refute_predicate push.send(("x" * 1000).freeze, track: true), :done?
    [("x" * 999).freeze, ["a", +"m" * LARGE]].each do |copied|
      assert_predicate push.send(copied, track: true), :done?
    end
    push.copy_threshold = nil
    assert_predicate push.send(large, track: true), :done?
    assert_nil push.copy_threshold
    says = /copy_threshold takes a number of bytes/
    [-1, 1.5, "100", :a, 1 << 70].each do |wrong|
      assert_named(Godwit::ArgumentValueError, says) { push.copy_threshold = wrong }
      assert_named(Godwit::ArgumentValueError, says) { open_socket(:PUSH, copy_threshold: wrong) }
    end
  end

  test "a received frame uses no String of the caller: its tracker is done at once" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    push.send(+"l" * LARGE)
    assert_predicate push.send(pull.recv_frame(timeout: 5), track: true), :done?
  end

  test "several trackers of one frozen frame" do
    not_on :ffi, "every String is copied when it is sent, so its tracker is done at once"
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    frame = Godwit::Frame.new(large).freeze
    trackers = Array.new(3) { push.send(frame, track: true) }
    3.times { pull.recv(timeout: 5) }
    assert(trackers.none?(&:done?)) # the frame still references the String
  end

  test "a tracked send that fails gives no tracker" do
    lonely = open_socket(:PUSH)
    assert_nil lonely.send(large, track: true, timeout: 0, exception: false)
    assert_raises(Godwit::TimeoutError) { lonely.send(large, track: true, timeout: 0.01) }
    assert_raises(Godwit::MessageTypeError) { lonely.send(5, track: true) }
  end

  test "Tracker#wait takes the time-outs of other calls" do
    tracker = open_socket(:PUSH, linger: 0).connect("tcp://127.0.0.1:1").send(large, track: true)
    assert_mistakes(
      -> { tracker.wait(-1) } => [Godwit::ArgumentValueError, /seconds/],
      -> { tracker.wait("1") } => [Godwit::ArgumentTypeError, /seconds/],
      -> { tracker.dup } => [Godwit::UnsupportedError, //]
    )
  end
end
