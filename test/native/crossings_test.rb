# frozen_string_literal: true

require "test_helper"

# What is paid per wait and never per message: Ruby's lock, a system call, a crossing into the extension (laws 1 and 4).
class CrossingsTest < Godwit::TestCase
  COUNT = 20_000

  # With another thread eager to run, giving the lock up costs a switch each time. The kernel counts them.
  test "messages that are there are received, and sent, without giving up Ruby's lock" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc, send_hwm: 0, recv_hwm: 0)
    stop = false
    in_thread { nil until stop }
    sending = switches { COUNT.times { push.send("x") } }
    receiving = switches { COUNT.times { pull.recv } }
    COUNT.times { push.send(%w[x y]) }
    several = switches { COUNT.times { pull.recv } }
    nonblock = switches { COUNT.times { pull.recv_nonblock(exception: false) } }
    stop = true
    assert_operator [sending, receiving, several, nonblock].max, :<, COUNT / 100
  end

  test "a batch crosses once" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc, send_hwm: 0, recv_hwm: 0)
    assert_equal 1, calls(:_send_many) { push.send_many(Array.new(1000, "x")) }
    got = nil
    assert_equal 1, calls(:_recv_many) { got = pull.recv_many(1000) }
    assert_equal 1000, got.size
  end

  private

  def switches
    before = voluntary_switches
    yield
    voluntary_switches - before
  end

  # Of the calling thread alone.
  def voluntary_switches = File.read("/proc/thread-self/status")[/^voluntary_ctxt_switches:\s*(\d+)/, 1].to_i

  def calls(name)
    count = 0
    TracePoint.new(:c_call) { |event| count += 1 if event.method_id == name }.enable { yield }
    count
  end
end
