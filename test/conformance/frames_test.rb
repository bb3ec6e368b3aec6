# frozen_string_literal: true

# libzmq: test_msg_flags

require_relative "case"

# Frames and Messages through sockets, and messages frame by frame.
class FramesTest < Conformance::Case
  MESSAGES = ["one", %w[a b c], "", ["", "x" * 10_000, ""], "y" * 100_000].freeze

  each_transport("recv_message gives whole messages, which are passed on") do |transport|
    pull, push = connected_pair(:PULL, :PUSH, transport: transport)
    last, forward = connected_pair(:PULL, :PUSH, transport: transport)
    push.send_many(MESSAGES)
    MESSAGES.each do |message|
      got = pull.recv_message(timeout: 5)
      assert_instance_of Godwit::Message, got
      assert_equal Array(message), got.to_a
      forward.send(got)
      assert_equal message, last.recv(timeout: 5)
    end
    assert_nil pull.recv_message(timeout: 0, exception: false)
    assert_raises(Godwit::TimeoutError) { pull.recv_message(timeout: 0.01) }
  end

  each_transport("recv_frame returns a message's frames one by one") do |transport|
    pull, push = connected_pair(:PULL, :PUSH, transport: transport)
    push.send_many(MESSAGES)
    seen = []
    MESSAGES.size.times do
      frames = [pull.recv_frame(timeout: 5)]
      frames << pull.recv_frame while frames.last.more?
      seen << frames.map(&:to_s)
    end
    assert_equal MESSAGES.map { |message| Array(message) }, seen
    assert_nil pull.recv_frame(timeout: 0, exception: false)
    assert_raises(Godwit::TimeoutError) { pull.recv_frame(timeout: 0.01) }
  end

  each_transport("recv_frames gives the frames of whole messages") do |transport|
    pull, push = connected_pair(:PULL, :PUSH, transport: transport)
    push.send_many([%w[a b], "c", %w[d e f]])
    frames = []
    frames.concat(pull.recv_frames(5, timeout: 5)) until frames.size >= 6
    assert_equal %w[a b c d e f], frames.map(&:to_s)
    assert_equal [true, false, false, true, true, false], frames.map(&:more?)
    assert_nil pull.recv_frames(1, timeout: 0, exception: false)
    assert_named(Godwit::ArgumentValueError, /max takes 1 frame or more/) { pull.recv_frames(0) }
  end

  each_transport("frames are sent as they are, alone and among Strings, and are gone " \
    "then") do |transport|
    pull, push = connected_pair(:PULL, :PUSH, transport: transport)
    one, two = Godwit::Frame.new("one"), Godwit::Frame.new("t" * 100_000)
    push.send(one)
    push << [two, "three", Godwit::Frame.new("four")]
    push.send_many(
      [Godwit::Frame.new("five"), [Godwit::Frame.new("six"), ""], Godwit::Message.new("seven")]
    )
    push.send_nonblock(Godwit::Message.new("eight", "nine"))
    assert_equal [
      "one", ["t" * 100_000, "three", "four"], "five", ["six", ""], "seven", %w[eight nine]
    ],
      take(pull, 6)
    assert_predicate one, :gone?
    assert_predicate two, :gone?
    assert_named(Godwit::GoneError, /send: Frame is gone .*dup/, operation: :send) do
      push.send(one)
    end
    assert_named(Godwit::GoneError, /gone/) { push << ["a", two] }
  end

  test "the same frame twice in a batch: the second is refused, the first was sent" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    frame = Godwit::Frame.new("x")
    error = assert_raises(Godwit::GoneError) { push.send_many([frame, "b", frame, "c"]) }
    assert_equal 2, error.sent
    assert_equal %w[x b], take(pull, 2)
  end

  test "a send that fails leaves the frames as they were" do
    lonely = open_socket(:PUSH, linger: 0)
    frame, message = Godwit::Frame.new("a"), Godwit::Message.new("b", "c")
    [frame, [frame, "d"], message].each do |one|
      assert_raises(Godwit::TimeoutError) { lonely.send(one, timeout: 0.01) }
      assert_equal :wait_writable, lonely.send_nonblock(one, exception: false)
      assert_nil lonely.send(one, timeout: 0, exception: false)
    end
    assert_equal ["a", %w[b c]], [frame.to_s, message.to_a]
    assert_raises(Godwit::MessageTypeError) { lonely.send([frame, 5]) }
    assert_raises(Godwit::UnsupportedError) { open_socket(:PULL).send(frame) }
    refute_predicate frame, :gone?
  end

  test "a frame that another thread sends while a send waits with it is refused there" do
    lonely = open_socket(:PUSH)
    frame = Godwit::Frame.new("a")
    waiting = waiting_on(lonely) { lonely.send(["first", frame]) }
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    push.send(frame)
    lonely.connect(open_socket(:PULL).bind(endpoint_for(:tcp)).last_endpoint)
    assert_raises(Godwit::GoneError) { waiting.value }
    assert_equal "a", pull.recv(timeout: 5)
  end

  # Calls all blocks with the same frame, at the same time, in threads. Yields the results.
  def at_once(times, *blocks)
    times.times do
      frame = Godwit::Frame.new("x" * 600)
      gate = Thread::Queue.new
      threads = blocks.map do |block|
        Thread.new do
          gate.pop || block.call(frame)
        rescue Godwit::GoneError
          :gone
        end
      end
      Thread.pass until gate.num_waiting == blocks.size
      gate.close
      yield threads.map(&:value)
    end
  end

  test "of two threads that send the same frame at once one sends it, and the other is refused" do
    not_on :jruby, "each of two threads at once may send it"
    pairs = Array.new(2) { connected_pair(:PULL, :PUSH, transport: :inproc) }
    sends = pairs.map { |_, push| ->(frame) { push.send(frame) && :sent } }
    at_once(300, *sends) do |outcomes|
      assert_equal %i[gone sent], outcomes.sort
      assert_equal 1,
        pairs.sum { |pull, _|
          pull.recv_nonblock(exception: false).is_a?(String) ? 1 : 0
        }
    end
  end

  test "a frame that another thread closes at the same time is in its message, or the message " \
    "was not sent" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    send = ->(frame) { push.send(["a", "b", "c", "d", frame]) && :sent }
    at_once(300, send, ->(frame) { frame.close || :closed }) do |outcomes|
      push.send("end")
      whole = ["a", "b", "c", "d", "x" * 600]
      assert_equal whole, pull.recv(timeout: 5) if outcomes.include?(:sent)
      assert_equal "end", pull.recv(timeout: 5)
    end
  end

  each_transport("send_frame keeps the parts and sends them as one message") do |transport|
    pull, push = connected_pair(:PULL, :PUSH, transport: transport)
    part = +"b"
    assert_same push, push.send_frame("a", more: true)
    push.send_frame(part, more: true)
    part << " changed"
    assert_nil pull.recv(timeout: 0.01, exception: false)
    push.send("between")
    push.send_frame(Godwit::Frame.new("c"))
    push.send_frame("alone")
    assert_equal ["between", %w[a b c], "alone"], take(pull, 3)
  end

  test "a send_frame that fails keeps its parts, and can be repeated" do
    push = open_socket(:PUSH)
    push.send_frame("a", more: true)
    assert_raises(Godwit::TimeoutError) { push.send_frame("b", timeout: 0.01) }
    assert_nil push.send_frame("b", timeout: 0, exception: false)
    assert_raises(Godwit::MessageTypeError) { push.send_frame(5) }
    assert_raises(Godwit::MessageTypeError) { push.send_frame(%w[a b], more: true) }
    gone = Godwit::Frame.new("x").tap(&:close)
    assert_raises(Godwit::GoneError) { push.send_frame(gone, more: true) }
    pull = open_socket(:PULL).bind(endpoint_for(:tcp))
    push.connect(pull.last_endpoint)
    push.send_frame("b")
    assert_equal %w[a b], pull.recv(timeout: 5)
  end

  test "discard_frames forgets kept and remaining frames" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    push.send_frame("a", more: true)
    assert_same push, push.discard_frames
    push.send_frame("b").send(%w[c d]).send("e")
    assert_equal "b", pull.recv_frame(timeout: 5).to_s
    assert_equal "c", pull.recv_frame(timeout: 5).to_s
    pull.discard_frames
    assert_equal "e", pull.recv_frame(timeout: 5).to_s
  end

  test "each fiber and thread has its own parts, and reads the rest of its own message" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    senders =
      Array.new(3) do |i|
        Fiber.new do
          3.times { |part| push.send_frame("#{i}.#{part}", more: part < 2).then { Fiber.yield } }
        end
      end
    3.times { senders.each(&:resume) }
    in_thread { push.send_frame("alone") }.join
    push.send(%w[x y])
    readers =
      Array.new(3) { Fiber.new { 3.times { Fiber.yield(pull.recv_frame(timeout: 5).to_s) } } }
    got = Array.new(3) { [] }
    3.times { readers.each_with_index { |reader, i| got[i] << reader.resume } }
    assert_equal Array.new(3) { |i| %W[#{i}.0 #{i}.1 #{i}.2] }, got
    assert_equal ["alone", %w[x y]], take(pull, 2)
  end

  test "the rest of a partly read message belongs to its fiber alone, ends with it, and waits " \
    "while recv takes the next message" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    push.send(%w[a b]).send(%w[c d]).send("e").send("f")
    assert_equal "a", in_thread { pull.recv_frame(timeout: 5).to_s }.value
    calls = %i[recv_frame recv recv_frame recv]
    assert_equal %w[c e d f], calls.map { |call| pull.public_send(call, timeout: 5).to_s }
  end
end
