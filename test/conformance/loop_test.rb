# frozen_string_literal: true

require "timeout"
require "support/tiny_scheduler"
require_relative "case"

# Godwit::Loop: registration, and when it calls callbacks. Errors and closing: loop_endings_test.rb.
class LoopTest < Conformance::Case
  def setup
    super
    @log = []
  end

  test "readable and writable of one socket, removed one after the other" do
    dealer, peer = connected_pair(:DEALER, :DEALER)
    loop = open_loop
    loop.writable(dealer) do |socket|
      socket.send("ping")
      assert loop.remove(socket, :writable)
      refute loop.remove(socket, :writable)
      assert loop.registered?(socket)
    end
    loop.readable(dealer) do |socket|
      @log << socket.recv
      assert loop.remove(socket)
      refute loop.registered?(socket)
    end
    loop.readable(peer) { |socket| socket.send(socket.recv.reverse) && loop.remove(socket) }
    assert_equal :empty, loop.run
    assert_equal ["gnip"], @log
    refute loop.remove(dealer)
  end

  # ---- one iteration ----

  test "a flooded socket starves neither another, nor an IO, nor a timer, nor posted blocks" do
    flooded, flood = connected_pair(:PULL, :PUSH, transport: :inproc)
    other, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    out, into = pipe
    flood.send_many(Array.new(500, "x"))
    loop = open_loop
    loop.readable(flooded) { |socket| (@log << socket.recv).size > 400 && loop.stop }
    loop.readable(other) { |socket| @log << socket.recv }
    loop.readable(out) { |io| @log << io.readpartial(10) }
    push.send("other")
    into << "io"
    loop.after(0) { @log << "timer" }
    loop.post { @log << "posted" }
    assert_equal :stopped, loop.run
    %w[other io timer posted].each { |one| assert_operator @log.index(one), :<, 10, one }
  end

  test "a thousand timers that are due let a socket come in between" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    loop = open_loop
    fired = 0
    1000.times { loop.after(0) { push.send("x") if (fired += 1) == 1 } }
    loop.readable(pull) { |socket| socket.recv && loop.remove(socket) && @log << fired }
    assert_equal :empty, loop.run
    assert_equal 1000, fired
    assert_operator @log.first, :<, 600
  end

  test "timers and posts that always make new ones starve no socket" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    loop = open_loop
    again = ->(*) { loop.after(0, &again) }
    post = ->(*) { loop.post(&post) }
    again.call
    post.call
    loop.every(0) {}
    loop.after(0.01) { push.send("x") }
    loop.readable(pull) { |socket| @log << socket.recv && loop.stop }
    assert_equal :stopped, loop.run
    assert_equal ["x"], @log
  end

  test "of several ready objects, one that a callback removes is not called any more" do
    loop = open_loop
    ready = Array.new(2) { pipe.last }
    ready.each { |io| loop.writable(io) { @log << ready.each { |one| loop.remove(one) } } }
    assert_equal :empty, loop.run
    assert_equal 1, @log.size
  end

  test "an object that a callback removes, empties and registers again is not called for its old " \
    "event" do
    loop = open_loop
    pairs = Array.new(2) { connected_pair(:PULL, :PUSH, transport: :inproc) }
    pulls = pairs.map(&:first)
    pairs.each { |_, push| push.send("x") }
    pulls.zip(pulls.reverse) do |mine, other|
      loop.readable(mine) do |socket|
        @log << socket.recv(timeout: 0)
        other.recv_nonblock(exception: false)
        loop.remove(other)
        loop.readable(other) do |again|
          @log << again.recv(timeout: 0) && loop.remove(again) && loop.remove(mine)
        end
        loop.after(0.01) { pairs.find { |pull, _| pull == other }.last.send("y") }
      end
    end
    assert_equal :empty, loop.run
    assert_equal %w[x y], @log
  end

  # ---- calls by other threads and fibers ----

  {"thread" => :in_thread, "fiber" => :fiber}.each do |name, start|
    test "objects that other threads register, make, cancel and post reach a waiting #{name}" do
      not_on :ffi, "a wait there holds its thread" if start == :fiber
      pull, push = connected_pair(:PULL, :PUSH)
      push.send("x")
      loop = open_loop
      running = __send__(start) { loop.run(forever: true) }
      seen = Thread::Queue.new
      until_waiting(loop)
      loop.readable(pull) { |socket| seen << socket.recv && loop.remove(socket) }
      assert_equal "x", seen.pop
      until_waiting(loop)
      timer = loop.after(1000) { seen << :timer }
      until_waiting(loop)
      timer.interval = 0.01
      assert_equal :timer, seen.pop
      until_waiting(loop)
      loop.every(0.001, times: 1) { seen << :every }
      assert_equal :every, seen.pop
      until_waiting(loop)
      loop.post { |given| seen << given }
      assert_same loop, seen.pop
      until_waiting(loop)
      loop.stop
      assert_equal :stopped, running.value
    end

    test "a waiting #{name} ends when the last registration is removed" do
      not_on :ffi, "a wait there holds its thread" if start == :fiber
      pull, = connected_pair(:PULL, :PUSH)
      loop = open_loop
      loop.readable(pull) { flunk }
      running = waiting_on(loop, start) { loop.run }
      assert loop.remove(pull)
      assert_equal :empty, running.value
      timer = loop.after(1000) { flunk }
      running = waiting_on(loop, start) { loop.run }
      timer.cancel
      assert_equal :empty, running.value
    end
  end

  test "posts of many threads all run, each thread's in their order, in the thread that runs the " \
    "loop" do
    loop = open_loop
    running = in_thread { loop.run(forever: true) }
    count = rounds(500, stressed: 20)
    posters =
      Array.new(4) do |poster|
        in_thread do
          count.times { |number| loop.post { @log << [poster, number, Thread.current] } }
        end
      end
    posters.each(&:join)
    loop.post(&:stop)
    assert_equal :stopped, running.value
    assert_equal 4 * count, @log.size
    assert_equal [running], @log.map(&:last).uniq
    4.times do |poster|
      assert_equal (0...count).to_a, @log.filter_map { |who, number, _| number if who == poster }
    end
  end

  test "thousands of posts and stops before run block no thread" do
    loop = open_loop
    count = rounds(3000, stressed: 100)
    poster = in_thread do
      count.times { loop.post { @log << 1 } }
      count.times { loop.stop }
    end
    assert poster.join(20)
    assert_equal :stopped, loop.run
    assert_empty @log
    assert_equal :empty, loop.run
    assert_equal count, @log.size
  end

  # ---- fibers ----

  test "while it waits in a fiber, others run; its callbacks run in the fiber of run" do
    not_on :ffi, "a wait there holds its thread"
    fibers = {}
    in_thread do
      Fiber.set_scheduler(Godwit::TestSupport::TinyScheduler.new)
      pull, push = connected_pair(:PULL, :PUSH)
      loop = open_loop
      loop.readable(pull) do |socket|
        fibers[:callback] = Fiber.current
        @log << socket.recv
        next loop.stop if @log.last == "b"
        loop.after(0.02) { @log << :timer && push.send("b") }
      end
      Fiber.schedule do
        fibers[:run] = Fiber.current
        loop.run
      end
      Fiber.schedule do
        @log << :other
        push.send("a", timeout: 5)
      end
    end.join
    assert_equal [:other, "a", :timer, "b"], @log
    assert_same fibers[:run], fibers[:callback]
  end

  test "a loop that never has to wait lets other fibers run" do
    not_on :ffi, "a wait there holds its thread"
    in_thread do
      Fiber.set_scheduler(Godwit::TestSupport::TinyScheduler.new)
      loop = open_loop
      turns = 0
      loop.every(0) { loop.stop if (turns += 1) > 100_000 || @log.any? }
      Fiber.schedule { loop.run }
      Fiber.schedule { @log << turns }
    end.join
    assert_operator @log.first, :<, 100_000
  end

  # ---- misuse ----

  test "errors of wrong use name the fix" do
    loop = open_loop
    pull, push, pub = %i[PULL PUSH PUB].map { |type| open_socket(type) }
    out, into = pipe
    {readable: -> { loop.readable(pull) }, writable: -> { loop.writable(push) },
     after: -> { loop.after(1) }, every: -> { loop.every(1) }, post: -> { loop.post },
     run: -> { Godwit::Loop.run }}.each do |operation, call|
      assert_named(Godwit::ArgumentValueError, /block/, operation: operation, &call)
    end
    loop.writable(pub) {}
    timer = loop.readable(pull) {}.after(1) {}
    assert_equal "#<Godwit::Loop not running, 2 registered, 1 timers>", loop.inspect
    timer.cancel
    unsupported, value = Godwit::UnsupportedError, Godwit::ArgumentValueError
    assert_mistakes(
      -> { loop.readable("x") {} } => [Godwit::ArgumentTypeError, /sockets, IOs/],
      -> { loop.readable(push) {} } => [unsupported, /a PUSH is never readable/],
      -> { loop.writable(out) {} } => [unsupported, /not open for writing/],
      -> { loop.readable(pub) {} } => [unsupported, /a PUB is never readable/, :readable],
      -> { loop.readable(pull) {} } =>
        [Godwit::PollerError, /has such a callback already: remove it first/, :readable],
      -> { loop.remove(pull, :eatable) } => [value, /:readable, :writable/, :remove],
      -> { loop.after(-1) {} } => [value, /at least 0/, :after],
      -> { loop.dup } => [unsupported, /copied/]
    )
    loop.writable(into) {}
    assert_equal [true, true, false, true],
      [pub, pull, push, into].map { |one| loop.registered?(one) }
    [pub, pull, into].each { |one| assert loop.remove(one) }
    assert_equal [true, false, false], [loop.empty?, loop.remove(out), loop.remove("x")]
  end
end
