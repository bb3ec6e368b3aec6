# frozen_string_literal: true

require "test_helper"

# What a waiter waits for reaches it at once: no wait is cut in slices after which it would look.
class WakeUpTest < Godwit::TestCase
  # Seconds. With slices of 50 ms half of all would be later than 25; what is measured on a quiet machine is below 1.
  AT_ONCE = 0.01
  TIMES = 21
  TRIES = 5

  test "a message wakes recv at once" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    assert_woken(-> { pull.recv }) { push.send("x") }
  end

  test "a message wakes a poller at once" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    poller = open_poller(pull)
    assert_woken(-> { poller.wait.then { pull.recv } }) { push.send("x") }
  end

  test "room wakes a sender at once" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc, send_hwm: 1, recv_hwm: 1)
    fill = -> { nil until push.send_nonblock("x", exception: false) == :wait_writable }
    drain = -> { nil until pull.recv_nonblock(exception: false) == :wait_readable }
    assert_woken(-> { push.send("x") }, before: fill, &drain)
  end

  test "close wakes at once" do
    pull = nil
    open = -> { pull = open_socket(:PULL).bind(endpoint_for(:inproc)) }
    wait = lambda do
      pull.recv
      flunk "nothing was sent"
    rescue Godwit::ClosedError
      nil
    end
    assert_woken(wait, before: open) { pull.close }
  end

  test "an event wakes its monitor at once" do
    pull = open_socket(:PULL)
    monitor = pull.monitor(:listening)
    assert_woken(-> { monitor.next_event }) { pull.bind(endpoint_for(:tcp)) }
    monitor.close
  end

  private

  # The machine may be busy: half of some twenty must be at once in one of a few tries.
  def assert_woken(wait, before: nil, &event)
    medians = Array.new(TRIES) do
      median = Array.new(TIMES) { wake(wait, before, event) }.sort[TIMES / 2]
      return assert_operator(median, :<=, AT_ONCE) if median <= AT_ONCE
      median
    end
    flunk "half of the wake-ups took #{medians.map { |seconds| (seconds * 1000).round(1) }} ms and more"
  end

  # @return [Float] seconds from the event to the end of the wait
  def wake(wait, before, event)
    before&.call
    ended = nil
    waiter = in_thread do
      wait.call
      ended = monotonic
    end
    until_asleep(waiter)
    start = monotonic
    event.call
    assert waiter.join(5), "it waits on"
    ended - start
  end
end
