# frozen_string_literal: true

# libzmq: test_hwm, test_immediate, test_spec_pushpull

require "test_helper"
require_relative "assertions"

class PushPullTest < Godwit::TestCase
  include Conformance::Assertions

  each_transport("a PUSH that is bound gives its workers work in turn", only: %i[tcp
    ipc]) do |transport|
    push = open_socket(:PUSH).bind(endpoint_for(transport))
    pulls = Array.new(3) { open_socket(:PULL).connect(push.last_endpoint) }
    push.wait_connected(count: 3, timeout: 5)
    30.times { |i| push << i.to_s }
    shares = pulls.map { |pull| take(pull, 10) }
    assert_equal Array.new(30, &:to_s), shares.flatten.sort_by(&:to_i)
  end

  each_transport("a peer that sends without end does not starve another") do |transport|
    pull = open_socket(:PULL).bind(endpoint_for(transport))
    greedy, modest = Array.new(2) { open_socket(:PUSH).connect(pull.last_endpoint) }
    in_thread { loop { greedy << "me!" } }
    assert_equal "me!", pull.recv(timeout: 5)
    modest << "me too"
    assert(eventually { pull.recv_many(1000, timeout: 5).include?("me too") })
  end

  each_transport("at the high-water mark a PUSH waits, and nothing is lost") do |transport|
    pull, push = connected_pair(:PULL, :PUSH, transport: transport, send_hwm: 5, recv_hwm: 5)
    count = 500 # of 64 KiB: more than the system buffers
    sender = in_thread { count.times { |i| push << [i.to_s, "x" * 65_536] } }
    until_waiting(push)
    assert_equal Array.new(count, &:to_s), take(pull, count).map(&:first)
    sender.join
    assert_same push, push.wait_writable(5)
  end

  test "a PUSH without a peer waits, and sends when a peer connects" do
    push = open_socket(:PUSH).bind(endpoint_for(:tcp))
    assert_raises(Godwit::TimeoutError) { push.send("too early", timeout: 0) }
    sender = in_thread { push.send("hello") }
    until_waiting(push)
    pull = open_socket(:PULL).connect(push.last_endpoint)
    assert_equal "hello", pull.recv(timeout: 5)
    assert_same push, sender.value
  end

  each_transport("a worker that leaves leaves its share of new work to the others") do |transport|
    pulls = Array.new(2) { open_socket(:PULL).bind(endpoint_for(transport)) }
    push = open_socket(:PUSH).connect(*pulls.map(&:last_endpoint))
    push << "0" << "1"
    assert_equal %w[0 1], pulls.map { |pull| pull.recv(timeout: 5) }
    push.disconnect(pulls.first.last_endpoint)
    pulls.first.close
    4.times { |i| push << i.to_s }
    assert_equal %w[0 1 2 3], take(pulls.last, 4)
  end

  test "immediate queues only for peers that are there" do
    push = open_socket(:PUSH, immediate: true).connect("tcp://127.0.0.1:#{free_port}")
    assert_equal :wait_writable, push.send_nonblock("x", exception: false)
    eager = open_socket(:PUSH, linger: 0).connect("tcp://127.0.0.1:#{free_port}")
    assert_same eager, eager.send_nonblock("x")
  end
end
