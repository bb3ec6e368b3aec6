# frozen_string_literal: true

require "test_helper"
require "support/tiny_scheduler"
require_relative "shim/shim"

# Races that could lose a wake-up. The shim (shim/windows.c) delays calls, so that the races happen
# more often, or a test causes a race step by step.
class LostWakeupTest < Godwit::TestCase
  Shim = Godwit::TestSupport::Shim
  ROUNDS = 300

  # The child has one core: with two cores a waiter often sees an edge before a call consumes it.
  PRELUDE = <<~RUBY
    require "godwit"
    system("taskset", "-cp", "0", Process.pid.to_s, out: File::NULL)
    context = Godwit::Context.new(linger: 0)
    def dealer(context, **options)
      Godwit::DEALER.bind("tcp://127.0.0.1:*", context: context, send_hwm: 1, **options)
    end
  RUBY

  # @return [Array<String>] the endpoints that the child prints
  def start_rounds(program, **windows)
    source = "#{PRELUDE}\n#{program}\nputs 'done'\nexit!(0)"
    @child = start_child(source, [ROUNDS], env: Shim.windows(**windows))
    @child.wait_for("\n").stdout.split
  end

  def assert_rounds = assert_includes(assert_child(@child.finish).stdout, "done")

  # A sender reads ZMQ_EVENTS before each wait. The read may consume the edge that the receiver is
  # about to wait for.
  test "a receiver beside a blocked sender notices a message that comes as it settles the sender" do
    endpoint, turns = start_rounds(<<~RUBY, events: 200)
      dealer = dealer(context, recv_hwm: 1)
      turn = Godwit::PUSH.bind("tcp://127.0.0.1:*", context: context)
      puts [dealer, turn].map(&:last_endpoint).join(" ")
      dealer.recv
      sender = Thread.new { loop { dealer.send("y" * 1_000_000) } }
      until_waiting(dealer)
      ARGV[0].to_i.times do |number|
        turn.send("")
        dealer.recv(timeout: HANG, exception: false) or
          abort "message \#{number} lies there: \#{dealer.events}"
      end
    RUBY
    peer = open_socket(:DEALER, recv_hwm: 1, recv_buffer_size: 2048).connect(endpoint)
    turn = open_socket(:PULL).connect(turns)
    in_thread { peer.send("here") && turn.each { peer.send("x") } }
    assert_rounds
  end

  test "a sender beside a waiting receiver notices room that comes as it settles the receiver" do
    endpoint, = start_rounds(<<~RUBY, any: 300)
      dealer = dealer(context)
      puts dealer.last_endpoint
      dealer.recv
      receiver = Thread.new { dealer.recv }
      until_waiting(dealer)
      ARGV[0].to_i.times do |number|
        dealer.send("y" * 2_000, timeout: HANG, exception: false) or
          abort "no room for message \#{number}? \#{dealer.events}"
      end
    RUBY
    peer = open_socket(:DEALER, recv_hwm: 1).connect(endpoint)
    peer.send("here")
    in_thread { ROUNDS.times { peer.recv } }
    assert_rounds
  end

  # Two fibers wait to send to two peers. The woken fiber's send fails, and consumes the edge of the
  # other fiber.
  test "a ROUTER's sender whose retry fails passes on the edge that it swallowed" do
    router, peers = full_router(3)
    sent = []
    Godwit::TestSupport::TinyScheduler.thread do |scheduler|
      fibers =
        Array.new(2) do |n|
          Fiber.schedule do
            sent << (router.send(["peer#{n}", "late"], timeout: HANG, exception: false) && n)
          end
        end
      drain(peers[2], router)
      router.send(["peer2", "through"]) # wakes both fibers: their peers may have room
      scheduler.order = lambda do |ready|
        assert_equal 2, ready.size
        fibers[1].resume(IO::READABLE) # this fiber's send fails
        drain(peers[1], router)
        scheduler.order = nil
        [[fibers[0], IO::READABLE]] # this fiber's send fails too, and consumes peer1's edge
      end
      scheduler.run_once
      scheduler.run_once while sent.empty?
      drain(peers[0], router)
      scheduler.run
    end.join(10)
    assert_equal [1, 0], sent
  end

  # These calls make the socket sendable at once, without a command in libzmq's mailbox.
  test "a sender and a poller notice a connect by another thread, a sender also an option that " \
    "makes it sendable" do
    pull = open_socket(:PULL).bind(endpoint_for(:inproc))
    push = open_socket(:PUSH)
    poller = open_poller.register(push, :writable)
    polling = waiting_on(poller) { poller.wait(5).map(&:object) }
    sender = waiting_on(push) { push.send("x", timeout: 5, exception: false) }
    push.connect(pull.last_endpoint)
    assert_equal [push, [push]], [sender.value, polling.value]
    router, = full_router(1)
    sender = waiting_on(router) { router.send(%w[peer0 x], timeout: 5, exception: false) }
    router.mandatory = false # then the ROUTER drops messages that cannot be sent
    assert_same router, sender.value
  end

  # A REQ or REP can receive after its send, and send after its receive. No edge reports that.
  test "a REP's turn reaches threads that wait for readable, a REQ's threads that wait for " \
    "writable" do
    rep, req = connected_pair(:REP, :REQ, transport: :inproc)
    req.send("first")
    assert_equal "first", rep.recv
    open_socket(:REQ).connect(rep.last_endpoint).send("second")
    assert_same rep, beside_fiber(rep, -> { rep.wait_readable(3) }) { rep.send("reply") }
    woken = beside_fiber(req, -> { req.wait_writable(3) }) do
      assert_equal "reply", req.recv(timeout: 5)
    end
    assert_same req, woken
  end

  # A waiter that was woken, and killed before it checked, passes its wake-up to the next waiter.
  test "a wake-up outlives the waiter that it was meant for" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    taken = Thread::Queue.new
    passed_on = 0
    300.times do |number|
      waiters = Array.new(2) { |waiting| waiter(pull, taken, waiting + 1) }
      push.send(number.to_s)
      pull.events # consumes the edge, and wakes the first waiter
      waiters.first.kill.join
      taker, message =
        eventually("message #{number} lies there (#{pull.events}), nobody woke up") do
          taken.pop unless taken.empty?
        end
      assert_equal number.to_s, message
      passed_on += 1 if taker == waiters.last
      waiters.last.kill.join
    end
    assert_operator passed_on, :>, 0
  end

  private

  def waiter(pull, taken, count)
    thread =
      in_thread do
        Thread.handle_interrupt(Object => :on_blocking) { taken << [Thread.current, pull.recv] }
      end
    until_waiting(pull, count)
    thread
  end

  # Runs the block while a fiber waits in the call, after all edges so far have been consumed.
  # @return [Object] what the call returns, or its error
  def beside_fiber(socket, call)
    Godwit::TestSupport::TinyScheduler.thread do |scheduler|
      got = nil
      Fiber.schedule { got = call.call rescue $! } # standard:disable Style/RescueModifier
      socket.events # consumes the edges so far, and so wakes the fiber
      until_idle(scheduler)
      yield
      scheduler.run
      got
    end.value
  end

  # Runs the scheduler until the fiber has checked its socket, and waits again: then only the fiber
  # that this method adds in each turn can run.
  def until_idle(scheduler)
    runnable = nil
    scheduler.order = ->(fibers) { runnable = fibers }
    until runnable&.one?
      Fiber.schedule { sleep 0 }
      scheduler.run_once
    end
    scheduler.order = nil
  end

  # @return [Array] a ROUTER, and peers whose queues are full
  def full_router(count)
    router = open_socket(:ROUTER, mandatory: true, send_hwm: 1).bind(endpoint_for(:inproc))
    peers =
      Array.new(count) do |n|
        open_socket(:DEALER, routing_id: "peer#{n}", recv_hwm: 1).connect(router.last_endpoint)
      end
    peers.each { |peer| peer.send("here") }
    peers.each { router.recv }
    count.times do |n|
      nil until router.send_nonblock(["peer#{n}", "x"], exception: false) == :wait_writable
    end
    [router, peers]
  end

  # Receives all messages of a peer. Returns when the ROUTER's mailbox has the command that reports
  # the new room.
  def drain(peer, router)
    nil until peer.recv_nonblock(exception: false) == :wait_readable
    assert IO.select([IO.for_fd(router.zmq_fd, autoclose: false)], nil, nil, 5), "no edge came"
  end
end
