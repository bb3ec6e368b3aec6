# frozen_string_literal: true

require_relative "case"

# send's relatives: <<, send_nonblock, send_many, wait_writable.
class SendingTest < Conformance::Case
  under_gc_stress

  def pair(transport = :inproc, **options)
    connected_pair(:PULL, :PUSH, transport: transport, **options)
  end

  # A PUSH that has room for five messages.
  def narrow = pair(bind_options: {recv_hwm: 2}, connect_options: {send_hwm: 3})

  test "wait_writable ends when there is room" do
    pull, push = narrow
    assert_same push, push.wait_writable(0)
    push.send_many(Array.new(5, &:to_s))
    assert_nil push.wait_writable(0)
    assert_nil push.wait_writable(0.02)
    waiting = in_thread { push.wait_writable }
    until_waiting(push)
    take(pull, 5)
    assert_same push, waiting.value
    assert_predicate push, :writable?
  end

  test "send_many sends more than one crossing takes, and waits for room in between" do
    pull, push = narrow
    expected = Array.new(3000, &:to_s)
    sender = in_thread { push.send_many(expected) }
    assert_equal expected, take(pull, 3000)
    assert_same push, sender.value
  end

  test "send_many on a closed socket says how many went" do
    _, push = narrow
    sender = in_thread { push.send_many(Array.new(20, &:to_s)) }
    eventually { push.events.empty? }
    push.close
    error = assert_raises(Godwit::ClosedError) { sender.value }
    assert_equal 5, error.sent
  end

  test "a send that waits keeps the message that it was given" do
    pull, push = narrow
    push.send_many(Array.new(5, &:to_s))
    message = [+"first", +"second, which is longer than what fits inline"]
    started = Queue.new
    sender = in_thread { (started << true) && push << message }
    started.pop
    until_waiting(push)
    message.first.replace("changed")
    message.push("one more")
    take(pull, 5)
    assert_equal ["first", "second, which is longer than what fits inline"], pull.recv(timeout: 5)
    sender.join
  end
end
