# frozen_string_literal: true

require "test_helper"
require "support/tiny_scheduler"

# The fast path of send, << and recv, which holds the lock but defers no interrupt (ADR 15).
class FastPathTest < Godwit::TestCase
  # The effect of a kill, a Timeout or a trap handler at a place that no test can hit from outside.
  class Interrupted < StandardError; end

  # @param function of libzmq; the interrupt comes after its next call
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

  [:recv, :recv_many, :recv_frame, :recv_into].each do |again|
    test "the rest of a message that was interrupted after its first frame never arrives: " \
      "#{again}" do
      pull, push = connected_pair(:PULL, :PUSH)
      push << "first"
      assert_equal "first", pull.recv(timeout: 5)
      push << %w[a b c] << "whole"
      assert pull.wait_readable(5)
      interrupt_next(:data)
      assert_raises(Interrupted) { pull.recv(timeout: 5) }
      received =
        (
          if again == :recv_into
            pull.recv_into(buffer = +"", timeout: 5) && buffer
          else
            pull.public_send(again, timeout: 5)
          end
        )
      assert_equal "whole", Array(received).first.to_s
    end
  end

  test "a REP whose request was interrupted may reply" do
    rep, req = connected_pair(:REP, :DEALER)
    req << ["", "a", "b"]
    assert rep.wait_readable(5)
    interrupt_next(:data)
    assert_raises(Interrupted) { rep.recv(timeout: 5) }
    rep.send("answer") # its turn, as when the message is lost at the return
    assert_equal ["", "answer"], req.recv(timeout: 5)
  end

  def handle_of(socket) = Godwit::Backend::FFI.handle_of(socket)

  # Connected, with nothing there: until the first message peers are counted, which is no fast path.
  def warm_pair
    pull, push = connected_pair(:PULL, :PUSH)
    push << "first"
    assert_equal "first", pull.recv(timeout: 5)
    [pull, push]
  end

  test "an interrupted waiter leaves the wait queue, and the message to the next" do
    pull, push = warm_pair
    thread = in_thread do
      pull.recv
    rescue Interrupted
      :interrupted
    end
    until_waiting(pull)
    thread.raise(Interrupted)
    assert_equal :interrupted, thread.value
    assert_empty handle_of(pull).queue
    push << "next"
    assert_equal "next", pull.recv(timeout: 5)
  end

  test "a waiter whose time is up leaves the wait queue" do
    pull, push = warm_pair
    2.times { assert_nil pull.recv(timeout: 0.01, exception: false) }
    assert_empty handle_of(pull).queue
    push << "next"
    assert_equal "next", pull.recv(timeout: 5)
  end

  # @return [Godwit::Backend::FFI::Waiter] that waits for messages
  def another_in(queue) = queue.spare(1).tap { |waiter| queue.enter(waiter) }

  test "of two waiters each gets a message" do
    pull, push = warm_pair
    threads = Array.new(2) { in_thread { pull.recv } }
    eventually("they never waited") { handle_of(pull).queue.waiters.size == 2 }
    push << "a" << "b"
    assert_equal %w[a b], threads.map(&:value).sort
    assert_empty handle_of(pull).queue
  end

  # Any call may consume the edge of libzmq's descriptor that a waiter needs.
  test "while a socket has a waiter, each send and receive settles" do
    pull, push = connected_pair(:PULL, :PUSH)
    push << "first" << "second"
    assert_equal "first", pull.recv(timeout: 5)
    assert pull.wait_readable(5)
    [[push, -> { push << "third" }], [pull, -> { pull.recv }]].each do |socket, call|
      handle = handle_of(socket)
      looked = 0
      handle.define_singleton_method(:settle) { super().tap { looked += 1 } }
      call.call
      assert_equal 0, looked
      waiter = another_in(handle.queue)
      call.call
      assert_operator looked, :>, 0
      handle.queue.leave(waiter)
    end
  end

  test "the lock is free after an interrupt" do
    pull, push = connected_pair(:PULL, :PUSH)
    push << "a" << "b"
    assert pull.wait_readable(5)
    interrupt_next(:data)
    assert_raises(Interrupted) { pull.recv(timeout: 5) }
    interrupt_next(:send_string)
    assert_raises(Interrupted) { push << "c" }
    in_thread { push << "d" }.join
    assert_equal %w[b c d], Array.new(3) { pull.recv(timeout: 5) }
  end

  test "a forked child is distinguished from its parent" do
    not_on :jruby, "JRuby cannot fork"
    program = <<~RUBY
      require "godwit"
      pull = Godwit::PULL.bind("inproc://forked")
      pull.recv_nonblock(exception: false)
      reader, writer = IO.pipe
      try = lambda do
        pull.recv_nonblock
      rescue => error
        error.class
      end
      pid = fork do
        writer.puts try.call
        exit!(0)
      end
      Process.wait(pid)
      puts reader.gets, pull.recv_nonblock(exception: false)
    RUBY
    assert_equal "Godwit::ForkedError\nwait_readable\n",
      assert_child(
        run_child(program, gems: true, env: {"GODWIT_BACKEND" => "ffi"})
      ).stdout
  end
end
