# frozen_string_literal: true

require "test_helper"
require "timeout"

# A wait of the FFI backend sleeps until an event or its deadline, and continues when poll returns
# without an event.
class FFIWaitsTest < Godwit::TestCase
  LIBC = Godwit::Backend::FFI::LibC

  # Counts in `thread[:returns]` how often the poll of a watched thread returned.
  # @param early [Integer] number of polls that return at once, without an event
  def watching_waits(early: 0, &block)
    real = LIBC.method(:wait_poll)
    watched = lambda do |*arguments|
      count = Thread.current[:returns]
      Thread.current[:returns] = count + 1 if count
      (count && count < early) ? 0 : real.call(*arguments)
    end
    LIBC.stub(:wait_poll, watched, &block)
  end

  def watched_thread
    in_thread do
      Thread.current[:returns] = 0
      yield
    end
  end

  test "threads that waited and ended hold no descriptor" do
    pull = open_socket(:PULL).bind(endpoint_for(:tcp))
    made = 0
    real = LIBC.method(:event_io)
    LIBC.stub(:event_io, -> { real.call.tap { made += 1 } }) do
      5.times do
        thread = in_thread { pull.wait_readable }
        until_waiting(pull)
        thread.kill.join
      end
    end
    assert_operator made, :<=, 1
  end

  {
    "recv" => ->(pull, seconds) { pull.recv(timeout: seconds, exception: false) },
    "wait_readable" => ->(pull, seconds) { pull.wait_readable(seconds) },
    "next_event" =>
      ->(pull, seconds) { pull.monitor(:accepted).next_event(timeout: seconds, exception: false) },
    "Poller#wait" =>
      ->(pull, seconds) { Godwit::Poller.new(pull) { |poller| poller.wait(seconds).first } },
    "recv without a deadline" => ->(pull, seconds) { Timeout.timeout(seconds) { pull.recv } }
  }.each do |name, call|
    test "#{name} wakes for a reason only" do
      pull = open_socket(:PULL).bind(endpoint_for(:tcp))
      watching_waits do
        # Reads the time before the wait begins: this thread may continue long after that.
        start = monotonic
        thread = watched_thread do
          call.call(pull, 1)
        rescue Timeout::Error
          nil
        end
        assert_nil thread.value
        assert_operator monotonic - start, :>=, 0.99
        # Polls of 50 ms would return 20 times. One poll may return a millisecond early. A recv
        # diagnoses its delay at 0.2 s, then every 0.1 s. JRuby polls twice for each poll of CRuby.
        polls = (RUBY_ENGINE == "jruby") ? 2 : 1
        assert_includes 1..(((name == "recv") ? 12 : 3) * polls), thread[:returns]
      end
    end
  end

  # On JRuby another thread may close the IO at any moment.
  test "an IO whose descriptor is gone in the middle of a wait raises ClosedError" do
    io, = pipe
    poller = open_poller(io)
    io.define_singleton_method(:fileno) { raise Errno::EBADF }
    assert_raises(Godwit::ClosedError) { poller.wait(5) }
  end

  # Makes poll ignore the socket's descriptor: then the waiter misses a command that another call
  # has received from libzmq's mailbox, unless that call wakes the waiter.
  def late_for_the_socket(&block)
    real = LIBC.method(:wait_poll)
    late = ->(polled, count, milliseconds) do
      real.call(polled, Thread.current[:late] ? 1 : count, milliseconds) # 1: polls only the eventfd
    end
    LIBC.stub(:wait_poll, late, &block)
  end

  {
    "events" => ->(push) { push.events }, "wait_writable" => ->(push) { push.wait_writable(0) },
    "send" => ->(push) { push.send("x", timeout: 0) },
    "send_many" => ->(push) { push.send_many(["x"], timeout: 0) },
    "bind" => ->(push) { push.bind("inproc://late") },
    "wait_connected" => ->(push) { push.wait_connected(timeout: 0) }
  }.each do |name, call|
    test "a call that gets ETERM wakes the waiters: #{name}" do
      not_on :jruby, "its waits look at the descriptor again by themselves"
      context = own(Godwit::Context.new)
      push = own(context.socket(:PUSH)).bind("tcp://127.0.0.1:*")
      late_for_the_socket do
        waiting = in_thread do
          Thread.current[:late] = true
          push.wait_writable
        end
        until_waiting(push)
        context.shutdown
        assert_raises(Godwit::ContextTerminatedError) { call.call(push) }
        assert_raises(Godwit::ContextTerminatedError) { waiting.value }
      end
    end
  end

  test "waits end in time when no descriptor is left for the epoll that remembers edges" do
    pull = open_socket(:PULL).bind(endpoint_for(:tcp))
    none_left = ->(_) { raise Godwit::Backend::FFI::Failed, Errno::EMFILE::Errno }
    LIBC.stub(:edges_of, none_left) do
      threads = Array.new(2) { in_thread { pull.recv(timeout: 0.01, exception: false) } }
      assert_equal [nil, nil], threads.map { |thread| ended(thread) }
    end
  end

  test "a wait that returns early with nothing ends no wait" do
    pull, push = connected_pair(:PULL, :PUSH)
    watching_waits(early: 100) do
      thread = watched_thread do
        start = monotonic
        assert_nil pull.recv(timeout: 0.2, exception: false)
        monotonic - start
      end
      assert_operator thread.value, :>=, 0.2, "it ended too early"
      assert_operator thread[:returns], :>, 1
    end
    watching_waits(early: 100) do
      thread = watched_thread { pull.recv }
      until_waiting(pull)
      push.send("x")
      assert_equal "x", thread.value
    end
  end

  test "the count of peers retains no events of a socket that connects in vain" do
    options = {reconnect_interval: 0.001}
    sub = open_socket(:SUB, **options).connect("tcp://127.0.0.1:1")
    later = open_socket(:REQ, **options)
    monitor = own(later.monitor(:connect_retried))
    later.connect("tcp://127.0.0.1:1")
    5.times { monitor.next_event(timeout: 5) }
    handle = Godwit::Backend::FFI.handle_of(sub)
    assert_equal false, handle.use { handle.monitor.drain }
  end
end
