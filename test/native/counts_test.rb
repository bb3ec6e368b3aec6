# frozen_string_literal: true

require "test_helper"

# Socket#stats: each method that sends or receives counts each message once, with the bytes of its
# frames.
class CountsTest < Godwit::TestCase
  def counts(socket) = socket.stats.to_a.first(4)

  # Calls that send ["ab", "c"] or "abc".
  SENDING = {
    "<<" => ->(push) { push << "abc" },
    "send" => ->(push) { push.send(%w[ab c]) },
    "send, timeout:" => ->(push) { push.send("abc", timeout: 5) },
    "send, track:" => ->(push) { push.send("abc", track: true) },
    "send_nonblock" => ->(push) { push.send_nonblock("abc") },
    "send_many" => ->(push) { push.send_many(["abc"]) },
    "send_frame" => ->(push) { push.send_frame("ab", more: true).send_frame("c") },
    "a Frame" => ->(push) { push << Godwit::Frame.new("abc") },
    "a frozen Frame" => ->(push) { push << Godwit::Frame.new("abc").freeze },
    "a Message" => ->(push) { push << Godwit::Message.new("ab", Godwit::Frame.new("c")) }
  }.freeze

  # Calls that receive the two sent messages.
  RECEIVING = {
    "recv" => ->(pull) { 2.times { pull.recv } },
    "recv, timeout:" => ->(pull) { 2.times { pull.recv(timeout: 5) } },
    "recv_multipart" => ->(pull) { 2.times { pull.recv_multipart } },
    "recv_nonblock" => ->(pull) { 2.times { pull.recv_nonblock } },
    "recv_into" => lambda do |pull|
      pull.recv_into(+"")
    rescue Godwit::MultipartError
      pull.recv_into(+"")
    end,
    "recv_message" => ->(pull) { 2.times { pull.recv_message } },
    "recv_frame" => ->(pull) { pull.recv_frame while pull.readable? },
    "recv_many" => ->(pull) { pull.recv_many.size == 2 },
    "recv_frames" => ->(pull) { pull.recv_frames.size == 3 },
    "each" => ->(pull) { pull.first(2) }
  }.freeze

  test "each method that sends counts" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    SENDING.each_with_index do |(name, sends), index|
      sends.call(push)
      assert_equal [index + 1, 3 * (index + 1), 0, 0], counts(push), name
    end
    push.send_many([%w[a b], "c", Godwit::Frame.new("d")])
    assert_equal [SENDING.size + 3, 3 * SENDING.size + 4, 0, 0], counts(push)
    assert_equal [0, 0, 0, 0], counts(pull)
    assert_raises(Godwit::MessageTypeError) { push << :abc }
    assert_equal SENDING.size + 3, push.stats.sent
  end

  test "each method that receives counts" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    RECEIVING.each_with_index do |(name, receives), index|
      push << %w[ab c] << "defg"
      receives.call(pull)
      assert_equal [0, 0, 2 * (index + 1), 7 * (index + 1)], counts(pull), name
    end
    assert_equal :wait_readable, pull.recv_nonblock(exception: false)
    waiting = in_thread { pull.recv }
    until_waiting(pull)
    push << "late"
    assert_equal "late", ended(waiting)
    assert_equal [2 * RECEIVING.size + 1, 7 * RECEIVING.size + 4], counts(pull).last(2)
  end

  test "envelopes, subscriptions and a proxy's messages do not count; a retry does" do
    rep, req = connected_pair(:REP, :REQ, transport: :inproc)
    served = in_thread { rep.serve { |message| message * 2 } }
    assert_equal "abab", req.request("ab", timeout: 5)
    assert_equal [[1, 2, 1, 4], [1, 4, 1, 2]], [counts(req), counts(rep)]
    rep.close
    ended(served)
    assert_equal [1, 4, 1, 2], counts(rep)
    assert_nil req.request("abc", timeout: 0.01, retries: 2, exception: false)
    assert_operator req.stats.sent, :>=, 2

    pub, sub = connected_pair(:PUB, :SUB)
    sub.subscribe("a")
    pub.wait_connected(timeout: 5)
    pub << "abc"
    sub.recv(timeout: 5)
    assert_equal [[1, 3, 0, 0], [0, 0, 1, 3]], [counts(pub), counts(sub)]
  end

  test "peers as long as they are counted; the last activity from the first call on" do
    _, fresh = connected_pair(:PULL, :PUSH)
    fresh.wait_connected(timeout: 5)
    assert_equal 1, fresh.stats.peers
    assert_nil fresh.stats.last_activity
    before = Time.now.to_i
    fresh << "x"
    assert_nil fresh.stats.peers
    assert_kind_of Time, fresh.stats.last_activity
    assert_includes before..Time.now.to_i, fresh.stats.last_activity.to_i
    assert_predicate fresh.stats, :frozen?
    near, _ = connected_pair(:PUSH, :PULL, transport: :inproc)
    assert_nil near.stats.peers
    near.close
    assert_nil near.stats.peers
    waiting = open_socket(:PUSH).connect("tcp://127.0.0.1:1")
    assert_equal 0, waiting.stats.peers
    context.shutdown
    assert_nil waiting.stats.peers
  end
end
