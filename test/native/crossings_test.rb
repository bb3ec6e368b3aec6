# frozen_string_literal: true

require "test_helper"
require_relative "shim/shim"

# Costs that occur per wait and never per message: Ruby's lock, a system call, a poll of the socket,
# a crossing into the extension.
class CrossingsTest < Godwit::TestCase
  COUNT = 20_000

  # While another thread is ready to run, each release of Ruby's lock costs a thread switch, which
  # the kernel counts.
  test "messages that are there are received, and sent, without giving up Ruby's lock" do
    if Godwit::TestSupport::GCLevels.slow?
      skip "time slices run out by themselves under GC.stress and valgrind"
    end
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

  PRELUDE = <<~RUBY
    #{Godwit::TestSupport::Shim::PRELUDE}
    context = Godwit::Context.new(linger: 0)
  RUBY

  # A read of ZMQ_EVENTS, or a check for edges, after each message would cost more than the messages
  # themselves.
  test "no message costs a poll of the socket, without waiters and with readers of Monitors" do
    assert_done(<<~RUBY, env: Godwit::TestSupport::Shim.windows)
      [false, true].each do |monitored|
        pull = Godwit::PULL.bind("inproc://\#{monitored}", context: context, recv_hwm: 0)
        push = Godwit::PUSH.connect(pull.last_endpoint, context: context, send_hwm: 0)
        [pull, push].each { |socket| socket.on_event {} && until_waiting(socket) } if monitored
        before = Windows.looks
        1000.times { push.send("x").send(%w[y z]) << "x" }
        push.send_many(["x"] * 1000)
        2000.times { pull.recv }
        1000.times { pull.recv_nonblock }
        abort "messages are missing" unless pull.recv_many(1000).size == 1000
        pull.recv_nonblock(exception: false) unless monitored
        abort "\#{Windows.looks - before} polls" if Windows.looks > before
        pull.events
        abort "polls are not counted" unless Windows.looks > before
      end
    RUBY
  end

  # While a socket only sends, libzmq processes its commands once in a millisecond, and the
  # descriptor stays readable. A waiter that did not make libzmq process the commands would spin.
  test "a sender that waits for room tries few times for each message" do
    assert_done(<<~RUBY, deadline: 25, env: Godwit::TestSupport::Shim.windows)
      pull = Godwit::PULL.bind("inproc://a", context: context, recv_hwm: 1)
      push = Godwit::PUSH.connect("inproc://a", context: context, send_hwm: 1)
      receiver = Thread.new { 2000.times { pull.recv } }
      before = Windows.sends
      2000.times { push.send("x") }
      tries = Windows.sends - before
      receiver.join
      abort "\#{tries} tries for 2,000 messages" if tries > 2000 * 8
      abort "tries are not counted" if tries < 2000
    RUBY
  end

  private

  def switches
    before = voluntary_switches
    yield
    voluntary_switches - before
  end

  # @return [Integer] context switches of the calling thread that no time slice forced
  def voluntary_switches
    File.read("/proc/thread-self/status")[/^voluntary_ctxt_switches:\s*(\d+)/, 1].to_i
  end

  def calls(name)
    count = 0
    TracePoint.new(:c_call) { |event| count += 1 if event.method_id == name }.enable { yield }
    count
  end
end
