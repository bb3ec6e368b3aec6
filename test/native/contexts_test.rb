# frozen_string_literal: true

require "test_helper"
require_relative "counting"
require_relative "shim/shim"

# Contexts and sockets that several threads open and close at once.
class ContextsTest < Godwit::TestCase
  include Godwit::TestSupport::Counting

  test "closed contexts that are not collected yet keep no close from waiting" do
    result = run_child(<<~RUBY, deadline: 20)
      require "godwit"
      Process.setrlimit(:NOFILE, 128)
      500.times { Godwit::Context.new.close }
      puts "done"
    RUBY
    assert_includes assert_child(result).stdout, "done"
  end

  test "threads that ask for the default context at once all get the same" do
    result = run_child(<<~RUBY, deadline: 20)
      require "godwit"
      20.times do
        trace = TracePoint.new(:line) { |event| Thread.pass if event.path.include?("godwit/") }
        contexts = nil
        trace.enable { contexts = Array.new(5) { Thread.new { Godwit.context } }.map(&:value) }
        abort "\#{contexts.uniq.size} default contexts" if contexts.uniq.size > 1
        contexts.first.close
      end
      caught = nil
      trap(:USR1) { caught = Godwit.context }
      Process.kill(:USR1, Process.pid)
      Thread.pass until caught
      abort "another one in a trap handler" unless caught.equal?(Godwit.context)
    RUBY
    assert_child(result)
  end

  # Context#close determines the longest linger before it ends the waits of other threads.
  test "Context#close gives linger to sockets that others wait on" do
    home = own(Godwit::Context.new(linger: 20))
    endpoint = endpoint_for(:ipc) # no receiver has bound this endpoint
    dealer = own(Godwit::DEALER.connect(endpoint, context: home, reconnect_interval: 0.01))
    dealer.send("late")
    waiter = in_thread { dealer.recv }
    until_waiting(dealer)
    started = monotonic
    closer = in_thread { home.close && nil }
    assert_raises(Godwit::ClosedError) { waiter.value }
    refute closer.join(1.5), "close gave up after #{monotonic - started} s, with a message unsent"
    peer = open_socket(:DEALER).bind(endpoint)
    assert_equal "late", peer.recv(timeout: 5)
    assert closer.join(5)
  end

  test "a socket that is closed again and again is closed once" do
    home = own(Godwit::Context.new(linger: 0, max_sockets: 2))
    kept = own(Godwit::PULL.new(context: home))
    one = Godwit::PULL.new(context: home)
    5.times { one.close }
    own(Godwit::PULL.new(context: home))
    assert_raises(Godwit::TooManySocketsError) { Godwit::PULL.new(context: home) }
    refute kept.readable?
  end

  # The kernel reuses the number of a closed descriptor at once. A thread that still polls that
  # number would get another object's events.
  {"socket" => "pull.recv", "PAIR of a Monitor" => "pull.monitor(:connected).next_event"}
    .each do |what, wait|
    test "no #{what} is closed before its last waiter has left" do
      assert_child(run_child(<<~RUBY, deadline: 30, env: Godwit::TestSupport::Shim.windows))
        #{Godwit::TestSupport::Shim::PRELUDE}
        30.times do |number|
          pull = Godwit::PULL.bind("inproc://\#{number}")
          waiters = Array.new(10) { Thread.new { #{wait} rescue $!.class } }
          until_waiting(pull, 10)
          Array.new(4) { Thread.new { pull.close } }.each(&:join)
          unless waiters.map(&:value).uniq == [Godwit::ClosedError]
            abort "a waiter got another object's event"
          end
        end
        abort "\#{Windows.closed_under_wait} were" if Windows.closed_under_wait > 0
      RUBY
    end
  end

  {
    {thread_affinity_add: 1023} => [/no CPU of this machine/, :thread_affinity_remove, 1023],
    {thread_sched_policy: 1} => [/thread_priority: 1 to 99/, :thread_sched_policy, 0],
    {thread_sched_policy: 77} => [/thread_sched_policy/, :thread_sched_policy, 0]
  }.each do |options, (fix, option, value)|
    test "threads that cannot run so (#{options}) are refused at the first socket, which they " \
      "can mend" do
      context = own(Godwit::Context.new(**options))
      2.times do
        assert_match(fix, assert_raises(Godwit::OptionError) { context.socket(:PULL) }.message)
      end
      context.public_send("#{option}=", value)
      own(context.socket(:PULL)).bind("inproc://x")
    end
  end

  test "a thread's CPU of this machine is taken" do
    cpu = Integer(File.read("/proc/self/status")[/^Cpus_allowed_list:\s*(\d+)/, 1])
    context = own(Godwit::Context.new(thread_affinity_add: cpu))
    assert_operator own(context.socket(:PULL)).bind("tcp://127.0.0.1:*").port, :>, 0
  end
end
