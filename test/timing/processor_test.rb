# frozen_string_literal: true

require "test_helper"
require "support/timed"
require "support/waiting_calls"

# Waits use no processor time.
class ProcessorTimingTest < Godwit::TestCase
  include Godwit::TestSupport::Timed
  include Godwit::TestSupport::WaitingCalls

  WINDOW = 0.5 # seconds of one measurement
  MAX = WINDOW / 4 # seconds of processor time; a wait that polls without a pause uses all of WINDOW

  test "every waiting call sleeps" do
    calls = ALL.keys.map { |name| waiting_call(name) { |type, **more| open_socket(type, **more) } }
    calls.each do |call|
      in_thread do
        call.run
      rescue Godwit::ClosedError, StopIteration
        nil # the call's object was closed
      end
    end
    calls.each { |call| until_waiting(call.waited_on) }
    used = cpu { sleep(WINDOW) }
    calls.each { |call| call.object.close }
    assert_operator used, :<, MAX
  end

  test "an idle proxy sleeps, paused or not" do
    sides = %i[PULL PUSH].map { |type| open_socket(type).bind(endpoint_for(:inproc)) }
    streamer = own(Godwit::Proxy.streamer(*sides)).start
    until_waiting(streamer)
    used = [cpu { sleep(WINDOW) }, streamer.pause && cpu { sleep(WINDOW) }]
    streamer.stop.wait(HANG)
    assert_operator used.max, :<, MAX
  end

  test "an idle broadcaster sleeps" do
    relay = own(Godwit::Logger::Broadcaster.new(*["tcp://127.0.0.1:*"] * 2, context: context)).start
    assert_operator cpu { sleep(WINDOW) }, :<, MAX
    relay.stop
  end

  test "a wait sleeps, also after earlier events" do
    pull, push = connected_pair(:PULL, :PUSH)
    push.send("x")
    pull.recv(timeout: HANG)
    assert_operator cpu { pull.recv(timeout: WINDOW, exception: false) }, :<, MAX
  end

  test "a wait from which a raise is held off sleeps" do
    pull, = connected_pair(:PULL, :PUSH)
    thread = in_thread do
      Thread.handle_interrupt(Object => :never) { pull.recv(timeout: WINDOW, exception: false) }
    end
    until_waiting(pull)
    thread.raise("held off")
    assert_operator cpu { assert_raises(RuntimeError) { thread.value } }, :<, MAX
  end

  # libzmq's signal to a thread-safe socket stays until a call reads it. A wait that does not read
  # it would wake again and again.
  test "waits of draft sockets sleep, also after earlier events" do
    not_on :ffi, "draft sockets are the extension's"
    library = ENV["GODWIT_DRAFT_LIBRARY"] or
      skip("the stage brings a libzmq with drafts: bin/test timing")
    result = assert_child(run_child(<<~RUBY, env: {"LD_LIBRARY_PATH" => library}))
      require "godwit"
      require "./test/support/timed"
      include Godwit::TestSupport::Timed
      received = {SERVER: :CLIENT, PEER: :PEER, GATHER: :SCATTER, DISH: :RADIO,
        CHANNEL: :CHANNEL}.each_with_index.map do |(type, other), number|
        here = Godwit.const_get(type).bind("inproc://\#{number}")
        here.join("group") if type == :DISH
        there = Godwit.const_get(other).new
        endpoint = "inproc://\#{number}"
        id = there.connect_peer(endpoint) if there.respond_to?(:connect_peer)
        there.connect(endpoint) unless id
        # A RADIO drops messages until it knows the DISH's group.
        to = {routing_id: id, group: ("group" if other == :RADIO)}.compact
        there.send("x", **to) until here.wait_readable(0.01)
        nil while here.recv(timeout: 0.05, exception: false)
        here
      end
      # Without a peer these sockets cannot send.
      full = %i[CLIENT SCATTER CHANNEL].map { |type| Godwit.const_get(type).new }
      {recv: [received, ->(one) { one.recv(timeout: #{WINDOW}, exception: false) }],
       wait_readable: [received, ->(one) { one.wait_readable(#{WINDOW}) }],
       poller: [received, ->(one) { Godwit::Poller.new(one).wait(#{WINDOW}) }],
       send: [full, ->(one) {
         one.send("x", timeout: #{WINDOW}, exception: false)
       }]}.each do |name, (sockets, call)|
        puts "\#{name} \#{cpu { sockets.map { |one| Thread.new { call.call(one) } }.each(&:join) }}"
      end
    RUBY
    used =
      result.stdout.lines.to_h { |line| line.split.then { |name, seconds| [name, Float(seconds)] } }
    assert_equal %w[recv wait_readable poller send], used.keys
    assert_empty used.select { |_, seconds| seconds > MAX }
  end
end
