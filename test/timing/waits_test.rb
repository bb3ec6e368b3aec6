# frozen_string_literal: true

require "test_helper"
require "support/timed"
require "support/waiting_calls"

# A wait ends at once when its event comes or when it is interrupted: no wait sleeps for a fixed
# time between two checks.
class WaitsTimingTest < Godwit::TestCase
  include Godwit::TestSupport::Timed
  include Godwit::TestSupport::WaitingCalls

  # Seconds, the limit of a median. If a wait checked every 50 ms, the median would be 25 ms. On a
  # machine without other work the median is below 1 ms.
  AT_ONCE = 0.01
  # Seconds that an event may be late, since other processes use the same processor.
  LATE = 0.05
  TIMES = 21

  test "an event wakes its waiter at once: a message, room, a monitor's event" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    assert_woken(pull, -> { pull.recv }) { push.send("x") }
    poller = open_poller(pull)
    assert_woken(poller, -> { poller.wait.then { pull.recv } }) { push.send("x") }
    monitor = pull.monitor(:listening)
    assert_woken(monitor, -> { monitor.next_event }) { pull.bind(endpoint_for(:tcp)) }
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc, send_hwm: 1, recv_hwm: 1)
    fill = -> { nil until push.send_nonblock("x", exception: false) == :wait_writable }
    drain = -> { nil until pull.recv_nonblock(exception: false) == :wait_readable }
    assert_woken(push, -> { push.send("x") }, before: fill, &drain)
  end

  test "a posted block reaches a loop at once, and its timers are not late" do
    loop = own(Godwit::Loop.new)
    done = Thread::Queue.new
    running = in_thread { loop.run(forever: true) }
    posted =
      median(TIMES) { until_waiting(loop) && seconds { loop.post { done << true } && done.pop } }
    timed = median(TIMES) do
      (start = monotonic) && loop.after(0.01) { done << monotonic - start - 0.01 } && done.pop
    end
    loop.stop
    ended(running)
    assert_operator [posted, timed].max, :<, LATE
  end

  # name => how to make the wait
  WAITS = {
    "Logger::Broadcaster#run" => lambda do
      home = own(Godwit::Context.new(linger: 0))
      relay = own(Godwit::Logger::Broadcaster.new(*["tcp://127.0.0.1:*"] * 2, context: home))
      Wait.new(-> { relay.run }, -> { eventually { relay.running? } },
        {"stop" => -> { relay.stop }, "shutdown" => -> { home.shutdown }})
    end,
    # Without an interrupt the close waits for linger, a second.
    "Context#close" => lambda do
      home = own(Godwit::Context.new(linger: 1))
      own(Godwit::PUSH.connect("tcp://127.0.0.1:1", context: home)) << "never delivered"
      Wait.new(-> { home.close }, -> { eventually { home.closed? } }, {})
    end,
    **KINDS.to_h { |name| [name, -> { wait_of(prepare(name)) }] }
  }.freeze

  WAITS.each do |name, made|
    test "endings of #{name} end it at once" do
      assert_ends_at_once { instance_exec(&made) }
    end
  end

  # Nothing notifies a poller that one of its IOs was closed.
  test "a poller notices within half a second that another thread closed an IO" do
    took = median do
      out, = pipe
      poller = open_poller
      poller.register(out, :readable)
      after(Wait.new(-> { poller.wait }, -> { until_waiting(poller) })) { out.close }
    end
    assert_operator took, :<, 0.5 + PROMISED
  end

  test "a wait ends when its time is up" do
    push = open_socket(:PUSH)
    pull = open_socket(:PULL).bind(endpoint_for(:tcp))
    poller = open_poller(pull)
    proxy =
      own(Godwit::Proxy.new(*Array.new(2) { open_socket(:DEALER).bind(endpoint_for(:tcp)) })).start
    {recv: -> { pull.recv(timeout: 0.05, exception: false) },
     send: -> { push.send("x", timeout: 0.05, exception: false) },
     poller: -> { poller.wait(0.05) }, proxy: -> { proxy.wait(0.05) }}.each do |name, call|
      assert_operator median { seconds(&call) }, :<, 0.05 + LATE, name
    end
    proxy.stop.wait
  end

  # Each message of the other threads wakes the waiting sender, which must still end in time.
  test "a deadline holds beside others that are always quicker" do
    router = open_socket(:ROUTER, mandatory: true, send_hwm: 1).bind(endpoint_for(:inproc))
    full, busy = %w[full busy].map do |id|
      open_socket(:DEALER, routing_id: id, recv_hwm: 1).connect(router.last_endpoint)
    end
    [full, busy].each { |peer| peer.send("here") && router.recv }
    nil until router.send_nonblock(%w[full x], exception: false) == :wait_writable
    stop = false
    3.times { in_thread { router.send(%w[busy x]) until stop } }
    3.times { in_thread { router.recv until stop } }
    2.times { in_thread { busy.recv && busy.send("y") until stop } }
    late = median do
      seconds { assert_nil router.send(%w[full x], timeout: 0.1, exception: false) } - 0.1
    end
    stop = true
    # Ruby gives each thread up to 100 ms, and eight other threads run.
    assert_operator late, :<, 1.0
  end

  private

  # @param call [Call]
  # @return [Wait]
  def wait_of(call)
    home = @home
    endings = {"close" => -> { call.object.close }}
    endings["shutdown"] = -> { home.shutdown } if call.context?
    endings["stop"] = -> { call.receiver.stop } if call.receiver.respond_to?(:stop)
    Wait.new(-> { call.run }, -> { until_waiting(call.waited_on) }, endings)
  end

  # Asserts that at least half of the wake-ups come at once.
  def assert_woken(waited_on, wait, before: nil, &event)
    assert_operator median(TIMES) { wake(waited_on, wait, before, event) }, :<=, AT_ONCE
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
