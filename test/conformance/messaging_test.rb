# frozen_string_literal: true

require_relative "case"

# send, recv and similar methods, in situations that test/conformance/plain does not test.
class MessagingTest < Conformance::Case
  under_gc_stress

  def pair(transport = :inproc, **options)
    connected_pair(:PULL, :PUSH, transport: transport, **options)
  end

  each_transport("recv_into replaces a buffer's content") do |transport|
    pull, push = pair(transport)
    buffer = +"what was there before"
    ["a", "x" * 33, "y" * 100_000, "", "z" * 34].each do |message|
      push << message
      assert_equal message.bytesize, pull.recv_into(buffer, timeout: 5)
      assert_equal message, buffer
      assert_equal Encoding::BINARY, buffer.encoding
    end
  end

  test "recv_into raises with the frames of a message of several, and leaves the buffer alone" do
    pull, push = pair
    buffer = +"mine"
    push << %w[a b]
    error =
      assert_named(Godwit::MultipartError, /2 frames/, operation: :recv_into) do
        pull.recv_into(buffer, timeout: 5)
      end
    assert_equal [%w[a b], "mine"], [error.frames, buffer]
  end

  test "recv_into has a time-out, its own or the socket's" do
    pull, = pair(bind_options: {recv_timeout: 0.01})
    [{}, {timeout: 0.02}].each do |time|
      assert_named(Godwit::TimeoutError, /Timed out/, operation: :recv_into) do
        pull.recv_into(+"", **time)
      end
    end
    assert_nil pull.recv_into(+"", timeout: 0, exception: false)
    [false, Complex(1, 1)].each do |wrong|
      assert_raises(TypeError, wrong.inspect) { pull.recv_into(+"", timeout: wrong) }
    end
  end

  test "recv_into takes no message for an object that is no buffer" do
    pull, push = pair
    push << "kept"
    assert_raises(FrozenError) { pull.recv_into("frozen", timeout: 5) }
    [nil, 5, [], :buffer].each do |what|
      assert_raises(TypeError, what.inspect) { pull.recv_into(what, timeout: 5) }
    end
    assert_equal "kept", pull.recv(timeout: 0)
  end

  test "recv_into does not touch Strings that share the buffer's bytes" do
    pull, push = pair
    original = "0123456789" * 10
    buffer = original.dup
    push << "x" * 50
    pull.recv_into(buffer, timeout: 5)
    assert_equal "0123456789" * 10, original
  end

  test "each gives an Enumerator without a block, ignores recv_timeout, and yields nothing once " \
    "closed" do
    pull, push = pair(bind_options: {recv_timeout: 0.001})
    push.send_many(%w[1 2 3])
    assert_equal %w[1 2], pull.each.first(2)
    assert_equal "3", pull.each.lazy.map { |message| message }.first
    reader = waiting_on(pull) { pull.each.first }
    push << "late"
    assert_equal "late", reader.value
    pull.close
    assert_same pull, pull.each { flunk }
  end

  # A PULL and a PUSH. Their queues have room for five messages.
  def narrow = pair(bind_options: {recv_hwm: 2}, connect_options: {send_hwm: 3})

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
