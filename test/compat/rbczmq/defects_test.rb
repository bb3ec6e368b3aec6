# frozen_string_literal: true

require_relative "rbczmq_case"

# Defects of rbczmq that its layer does not have: crashes, leaks, and ends of the process.
class RbczmqDefectsTest < Godwit::RbczmqCase
  under_gc_stress

  test "a frame outlives its message" do
    frames =
      Array.new(50) do |number|
        ZMQ.Message("first #{number}", "last").then { |message| [message.first, message.last] }
      end
    GC.start
    assert_equal Array.new(50) { |number| ["first #{number}", "last"] },
      frames.map { |pair| pair.map(&:data) }
    frames.flatten.each { |frame| assert_raises(ZMQ::Error) { frame.destroy } }
  end

  test "a frame that could not be sent without waiting is whole, and its owner's" do
    push = ctx.bind(:PUSH, spot)
    frame = ZMQ::Frame("kept")
    assert_equal false, push.send_frame(frame, :DONTWAIT)
    assert_equal ["kept", false], [frame.data, frame.gone?]
    assert_nil frame.destroy
    assert_raises(ZMQ::Error) { push.send_frame(frame, :DONTWAIT) }
    GC.start
    assert frame.gone?
  end

  test "unreferenced objects are collected, and the collection does not wait" do
    endpoint = spot
    pull = ctx.bind(:PULL, endpoint)
    20.times { ctx.connect(:PUSH, endpoint).send("from one that is forgotten") }
    GC.start
    assert_equal ["from one that is forgotten"], Array.new(20) { pull.recv }.uniq
  end

  test "a monitor ends when its socket closes during a wait" do
    ctx # the FFI backend starts a thread with a process's first context
    before = live_threads
    5.times do
      rep = ctx.socket(:REP)
      assert rep.monitor(spot)
      rep.bind("tcp://127.0.0.1:*")
      rep.close
    end
    eventually { (live_threads - before).empty? }
  end

  test "after an interrupt a loop runs as before" do
    lp = ZMQ::Loop.new
    lp.register_timer(ZMQ::Timer.new(0.001, 1) { lp.interrupt })
    assert_equal 0, lp.start
    fired = 0
    lp.register_timer(ZMQ::Timer.new(0.001, 3) { (fired += 1) < 3 })
    assert_equal [-1, 3], [lp.start, fired]
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
