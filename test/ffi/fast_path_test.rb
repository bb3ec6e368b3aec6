# frozen_string_literal: true

require "test_helper"

# The fast path of send, << and recv, which holds the lock but defers no interrupt (ADR 15).
class FastPathTest < Godwit::TestCase
  # Represents a kill or a Timeout between two statements. No test can time a real one so precisely.
  class Interrupted < StandardError; end

  # @param function [Symbol] function of libzmq; the interrupt comes after its next call
  def interrupt_next(function)
    hook = Module.new
    hook.define_method(function) do |*arguments|
      hook.remove_method(function)
      super(*arguments)
      raise Interrupted
    end
    Godwit::Backend::FFI::Zmq.singleton_class.prepend(hook)
  end

  def setup
    super
    skip "the backend is not ffi" unless Godwit::BACKEND == :ffi
  end

  # A pair of sockets whose next calls use the fast path. The first send and the first recv use the
  # slow path, which ends the socket's count of peers.
  def warm_pair
    connected_pair(:PULL, :PUSH).tap do |pull, push|
      push << "first"
      assert_equal "first", pull.recv(timeout: 5)
    end
  end

  test "the rest of a message that was interrupted after its first frame never arrives" do
    pull, push = warm_pair
    push << %w[a b c] << "whole"
    assert pull.wait_readable(5)
    interrupt_next(:data)
    assert_raises(Interrupted) { pull.recv(timeout: 5) }
    assert_equal "whole", pull.recv(timeout: 5)
  end

  test "a REP whose request was interrupted may reply" do
    rep, req = connected_pair(:REP, :DEALER)
    req << ["", "a", "b"]
    assert rep.wait_readable(5)
    interrupt_next(:data)
    assert_raises(Interrupted) { rep.recv(timeout: 5) }
    rep.send("answer") # allowed: the interrupted recv counts as a received request
    assert_equal ["", "answer"], req.recv(timeout: 5)
  end

  test "the lock is free after an interrupt" do
    pull, push = warm_pair
    push << "a" << "b"
    assert pull.wait_readable(5)
    interrupt_next(:data)
    assert_raises(Interrupted) { pull.recv(timeout: 5) }
    interrupt_next(:send_string)
    assert_raises(Interrupted) { push << "c" }
    in_thread { push << "d" }.join
    assert_equal %w[b c d], Array.new(3) { pull.recv(timeout: 5) }
  end
end
