# frozen_string_literal: true

require "test_helper"
require "native/shim/shim"
require "support/timed"
require "support/unsent_programs"
require "support/waiting_calls"

# A process and a context end as soon as linger allows, and at most a second later (law 7).
class ExitTimingTest < Godwit::TestCase
  include Godwit::TestSupport::Timed
  extend Godwit::TestSupport::UnsentPrograms

  SLACK = 1.0 # seconds that an end may take longer than linger

  # The name of an end => [seconds that the process may take to end, its program].
  {
    "with linger: 0" => [0..SLACK, unsent("linger: 0")],
    "without a message" => [0..SLACK, "Godwit::PUSH.connect('tcp://127.0.0.1:1')"],
    "with a missing peer, after its linger" => [1..1 + SLACK, unsent("linger: 1")],
    "with several contexts and closed sockets, after the longest linger, not their sum" =>
      [1.5..1.5 + SLACK, unsent_in_contexts(0.5)],
    "with rbczmq's layer, as rbczmq's" => [0..SLACK, <<~RUBY],
      require "godwit/compat/rbczmq"
      require "zmq"
      context = ZMQ::Context.new
      context.linger = 1
      context.connect(:PUSH, "tcp://127.0.0.1:1").send("never delivered")
    RUBY
    # ffi-rzmq's messages linger without limit, and the process waits 5 seconds for them.
    "with ffi-rzmq's layer, as ffi-rzmq's" => [4.99..5 + 1 + SLACK, <<~RUBY]
      require "godwit/compat/ffi_rzmq"
      require "ffi-rzmq"
      push = ZMQ::Context.new.socket(ZMQ::PUSH)
      push.connect("tcp://127.0.0.1:1")
      push.send_string("never delivered")
    RUBY
  }.each do |how, (seconds, source)|
    test("a process ends #{how}") { assert_ends_within(seconds, source) }
  end

  test "Context#close waits for the linger of an undeliverable message, not longer" do
    [nil, 0].each do |linger|
      took = median { context_with(linger).then { |home| seconds { home.close } } }
      assert_operator took, :<, PROMISED, linger.inspect
    end
    home = context_with(0.3)
    assert_includes 0.29..0.3 + SLACK, seconds { home.close }
  end

  # libzmq's own termination waits for the name server's answer, 20 seconds.
  test "a host name that is being resolved holds the end for linger and a second at most" do
    slow = Godwit::TestSupport::Shim.windows(resolve: 20 * 1_000_000)
    source = <<~RUBY
      context = Godwit::Context.new(linger: 0.2)
      push = Godwit::PUSH.connect("tcp://no.such.host.invalid:1", context: context)
      push.send("x")
    RUBY
    # Ruby's own end may take half a second more.
    ["", "push.close", "context.close"].each do |last|
      assert_ends_within(0.2..0.2 + 1 + 0.5, "#{source}\n#{last}", env: slow)
    end
  end

  test "Ctrl-C ends a program with an undeliverable message at once, without linger" do
    ventilator = "examples/guide/pipeline/ventilator.rb"
    child = start_child(ventilator, %w[tcp://127.0.0.1:* tcp://127.0.0.1:1]).wait_for(/^ready at/)
    assert_operator seconds { assert_child(child.signal(:INT).finish) }, :<, 1 + SLACK
  end

  test "the exception of a signal ends a wait of the main thread at once" do
    result = assert_child(run_child(<<~RUBY))
      require "godwit"
      require "./test/support/waiting_calls"
      include Godwit::TestSupport::WaitingCalls
      each_waiting_call(KINDS * #{TRIES}) do |call|
        sent = nil
        when_waiting(call.waited_on) { (sent = now) && Process.kill(:INT, Process.pid) }
        begin
          call.run
        rescue Interrupt
          puts "\#{call.name}: \#{now - sent}"
        end
        call.object.close
      end
    RUBY
    tries = result.stdout.lines.map { |line| line.split(": ") }.group_by(&:first)
    assert_equal Godwit::TestSupport::WaitingCalls::KINDS, tries.keys
    late = tries.transform_values { |times| times.map { |_, seconds| Float(seconds) } }
      .reject { |_, times| times.sort[TRIES / 2] < PROMISED }
    assert_empty late
  end

  private

  # @param linger [Numeric, nil] seconds for an undeliverable message; nil sends no message
  def context_with(linger)
    own(Godwit::Context.new).tap do |home|
      push = own(home.socket(:PUSH, **{linger: linger}.compact)).connect("tcp://127.0.0.1:1")
      push.send("never delivered") if linger
    end
  end
end
