# frozen_string_literal: true

require_relative "rbczmq_case"

# Defects of rbczmq that its layer does not have: crashes, leaks, and ends of the process.
class RbczmqDefectsTest < Godwit::RbczmqCase
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
