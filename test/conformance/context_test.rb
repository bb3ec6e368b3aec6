# frozen_string_literal: true

# libzmq: test_ctx_destroy, test_ctx_options

require_relative "case"

class ContextTest < Conformance::Case
  test "socket_options are the defaults of its sockets, where they apply; the socket's own " \
    "options win" do
    own(one = Godwit::Context.new(socket_options: {
      recv_hwm: 11, send_timeout: 0.25, mandatory: true, subscribe: "a"
    }))
    pull, other = own(one.socket(:PULL)), own(one.socket(:PULL, recv_hwm: 12))
    router = own(one.socket(:ROUTER))
    assert_equal [11, 0.25, 12, 0.25],
      [pull.recv_hwm, pull.send_timeout, other.recv_hwm, other.send_timeout]
    assert_raises(Godwit::UnreachableError) { router << ["nobody", "x"] }
    pub = own(one.socket(:PUB)).bind(endpoint_for(:inproc))
    sub = own(one.socket(:SUB)).connect(pub.last_endpoint)
    pub.wait_connected(timeout: 5)
    pub << "a1"
    assert_equal "a1", sub.recv(timeout: 5)
    assert_predicate one.socket_options, :frozen?
    assert_equal 11, one.socket_options[:recv_hwm]
  end

  test "linger is 5 s, or the context's, or the socket's" do
    assert_equal [5, 5], [context.linger, open_socket(:PUSH).linger]
    own(one = Godwit::Context.new(linger: 0.5))
    before = own(one.socket(:PUSH))
    one.linger = nil
    after = own(one.socket(:PUSH))
    assert_equal [0.5, nil, nil, 0.25],
      [
        before.linger, one.linger, after.linger, own(one.socket(:PUSH, linger: 0.25)).linger
      ]
    one.linger = 0
    [before, after].each { |socket| socket.linger = 0 }
  end

  test "close waits for the sockets' own linger, and only for sent messages" do
    nobody = "tcp://127.0.0.1:#{free_port}"
    # libzmq counts linger in whole milliseconds from the start of the current millisecond
    {nil => 0, 0 => 0, 0.1 => 0.099}.each do |linger, least|
      one = own(Godwit::Context.new(linger: 2 * HANG))
      push = own(one.socket(:PUSH))
      push.linger = linger if linger
      push.connect(nobody)
      push << "never taken" if linger
      assert_takes(least) { ended(in_thread { one.close }) }
    end
  end

  test "messages sent before close arrive after it" do
    pull = open_socket(:PULL).bind(endpoint_for(:tcp))
    one = own(Godwit::Context.new)
    push = one.socket(:PUSH).connect(pull.last_endpoint)
    push.send_many(Array.new(500, &:to_s))
    closing = in_thread { one.close }
    assert_equal Array.new(500, &:to_s), take(pull, 500)
    assert_nil closing.value
  end

  test "a socket's close does not wait, and its messages go on" do
    pull = open_socket(:PULL).bind(endpoint_for(:tcp))
    push = open_socket(:PUSH).connect(pull.last_endpoint)
    push << "x" * 10_000_000 << "last" # more than the system buffers without a reader
    push.close
    assert_equal "last", take(pull, 2).last
  end
end
