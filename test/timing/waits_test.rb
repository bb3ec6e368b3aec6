# frozen_string_literal: true

require "test_helper"
require "timeout"
require "support/waiting_calls"

# What a waiter waits for reaches it at once: no wait is cut in slices after which it would look.
class WaitsTimingTest < Godwit::TestCase
  include Godwit::TestSupport::WaitingCalls

  # Seconds. With slices of 50 ms half of all would be later than 25; on a quiet machine it is below 1.
  AT_ONCE = 0.01
  TIMES = 21
  Stop = Class.new(StandardError)
  # One of the innermost calls of a thread that waits.
  WAITS = /in `(join|_wait|_recv\w*|wait_poll|select)'/

  test "a message wakes recv at once" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    assert_woken(pull, -> { pull.recv }) { push.send("x") }
  end

  test "a message wakes a poller at once" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    poller = open_poller(pull)
    assert_woken(poller, -> { poller.wait.then { pull.recv } }) { push.send("x") }
  end

  test "room wakes a sender at once" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc, send_hwm: 1, recv_hwm: 1)
    fill = -> { nil until push.send_nonblock("x", exception: false) == :wait_writable }
    drain = -> { nil until pull.recv_nonblock(exception: false) == :wait_readable }
    assert_woken(push, -> { push.send("x") }, before: fill, &drain)
  end

  test "an event wakes its monitor at once" do
    pull = open_socket(:PULL)
    monitor = pull.monitor(:listening)
    assert_woken(monitor, -> { monitor.next_event }) { pull.bind(endpoint_for(:tcp)) }
  end

  # One call for each kind of wait: what ends it does so at once.
  {"Thread#kill" => ->(_, thread) { thread.kill }, "close" => ->(call, _) { call.socket.close },
   "shutdown" => ->(call, _) { call.socket.context.shutdown }}.each do |how, ending|
    test "#{how} ends every kind of wait at once" do
      KINDS.each do |name|
        call = waiting_call(name) { |type, **more| own(Godwit.const_get(type).new(context: own(Godwit::Context.new(linger: 0)), **more)) }
        thread = in_thread { call.run }
        until_waiting(own(call.waited_on))
        took = seconds do
          ending.call(call, thread)
          assert_raises(Godwit::Error) { thread.join(HANG) } unless how == "Thread#kill"
          thread.join(HANG)
        rescue Godwit::Error
          nil
        end
        assert_operator took, :<, 0.1, name
      end
    end
  end

  # What these wait for: a thread of the library's own, or a socket or poller inside.
  OTHERS = {
    "Proxy#run" => [->(test) { test.streamer }, :run], "Proxy#wait" => [->(test) { test.streamer.start }, :wait],
    "Broadcaster#wait" => [->(test) { test.broadcaster.start }, :wait], "Reader#recv" => [->(test) { test.reader }, :recv],
    "Loop#run" => [->(test) { test.waiting_loop }, :run]
  }.freeze

  {"Thread#kill" => ->(_, thread) { thread.kill }, "Thread#raise" => ->(_, thread) { thread.raise(Stop) },
   "close" => ->(object, _) { object.close }}.each do |how, ending|
    test "#{how} ends a wait for a proxy, a broadcaster, a reader or a loop at once" do
      not_on :jruby, "code that it runs for the first time takes longer than the limit"
      OTHERS.each do |name, (made, call)|
        object = own(made.call(self))
        thread = in_thread { object.public_send(call) }
        eventually { thread.backtrace.to_a.first(6).grep(WAITS).any? }
        took = seconds do
          ending.call(object, thread)
          thread.join(HANG)
        rescue Stop, Godwit::ClosedError
          nil
        end
        object.close
        assert_operator took, :<, 0.1, name
      end
    end
  end

  test "Context#close waits for linger and a second at most" do
    [0, 0.3].each do |linger|
      home = own(Godwit::Context.new(linger: linger))
      Godwit::PUSH.connect("tcp://127.0.0.1:1", context: home).send("never delivered")
      assert_includes linger - 0.01..linger + 1, seconds { home.close }
    end
  end

  def streamer = Godwit::Proxy.streamer(*%i[PULL PUSH].map { |type| open_socket(type).bind(endpoint_for(:inproc)) })

  def broadcaster = Godwit::Logger::Broadcaster.new("tcp://127.0.0.1:*", "tcp://127.0.0.1:*", context: context)

  def reader = Godwit::Logger::Reader.new("tcp://127.0.0.1:*", context: context)

  def waiting_loop = Godwit::Loop.new.tap { |one| one.readable(open_socket(:PULL).bind(endpoint_for(:inproc))) { nil } }

  private

  # Half of some twenty wake-ups are at once.
  def assert_woken(waited_on, wait, before: nil, &event)
    times = Array.new(TIMES) { wake(waited_on, wait, before, event) }.sort
    assert_operator times[TIMES / 2], :<=, AT_ONCE
  end

  # @return [Float] seconds from the event to the end of the wait
  def wake(waited_on, wait, before, event)
    before&.call
    waiter = in_thread { wait.call.then { monotonic } }
    until_waiting(waited_on)
    start = monotonic
    event.call
    ended(waiter) - start
  end
end
