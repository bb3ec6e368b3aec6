# frozen_string_literal: true

require "test_helper"
require "native/shim/shim"
require "support/timed"
require "support/unsent_programs"

# The end of a process does not hang, and unsent messages have until their linger is over (law 7).
class ExitTest < Godwit::TestCase
  include Godwit::TestSupport::Timed
  include Godwit::TestSupport::UnsentPrograms

  # name => [the program before its 100 messages, after them, its exit status]
  {
    "unsent messages are delivered when the peer connects within linger" => ["", "exit 7", 7],
    "threads that wait on other sockets cause no loss, and nothing is printed about them" =>
      [<<~RUBY, "", 0]
        pulls = Array.new(3) { |number| Godwit::PULL.bind("inproc://\#{number}") }
        pulls.each { |pull| Thread.new { pull.recv } }
        pulls.each { |pull| until_waiting(pull) }
      RUBY
  }.each do |name, (before, after, status)|
    test name do
      endpoint = endpoint_for(:ipc) # another process could take a TCP port before the bind below
      child = start_child(<<~RUBY, [endpoint])
        require "godwit"
        trap(:WINCH) {} # a signal that ends no wait
        push = Godwit::PUSH.connect(ARGV[0], reconnect_interval: 0.01)
        #{before}
        100.times { |number| push.send(number.to_s) }
        at_exit { puts "ending" }
        #{after}
      RUBY
      child.wait_for("ending")
      10.times do
        child.signal(:WINCH)
        sleep(0.05)
        refute_predicate child, :ended?, "the process did not wait for its peer"
      end
      pull = open_socket(:PULL).bind(endpoint)
      100.times { |number| assert_equal number.to_s, pull.recv(timeout: 10) }
      result = child.finish
      assert_equal [status, ""], [result.status.exitstatus, result.stderr], result.to_s
    end
  end

  test "the longest linger delays the end, also of a closed socket; 0 waits for no peer" do
    assert_ends_within(0.., unsent("linger: 0, context: Godwit::Context.new(linger: 1000)"))
    assert_ends_within(1.., unsent_in_contexts(0.25))
  end

  # zmq_ctx_term waits for the name server's answer; the end of the process must not wait for it.
  test "a host name that is being resolved does not hold the end" do
    slow = Godwit::TestSupport::Shim.windows(resolve: 1000 * 1_000_000)
    ["", "push.close", "context.close"].each do |ending|
      assert_ends_within(0.2.., <<~RUBY, env: slow)
        context = Godwit::Context.new(linger: 0.2)
        push = Godwit::PUSH.connect("tcp://no.such.host.invalid:1", context: context)
        push.send("x")
        #{ending}
      RUBY
    end
  end

  {
    "exit" => ["exit 3", 3], "exit in a thread" => ["Thread.new { exit 3 }.join", 3],
    "abort" => ["abort", 1], "an exception" => ["raise 'oh'", 1],
    "the end of the program" => ["", 0], "exit!" => ["exit! 3", 3],
    "exit in an at_exit block" => ["at_exit { exit 3 }", 3],
    "SystemExit in the middle of at_exit blocks" =>
      ["at_exit { pull.close }\nat_exit { raise 'oh' }", 1],
    "SIGTERM" => ["Process.kill(:TERM, Process.pid); sleep", (143 if RUBY_ENGINE == "jruby")],
    "SIGKILL" => ["Process.kill(:KILL, Process.pid); sleep", nil]
  }.each do |how, (source, status)|
    test "#{how} with threads that wait on open sockets" do
      result = run_child(<<~RUBY)
        require "godwit"
        $stderr.reopen(File::NULL)
        pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
        push = Godwit::PUSH.connect(pull.last_endpoint)
        full = Godwit::PUSH.bind("tcp://127.0.0.1:*")
        router = Godwit::ROUTER.new
        5.times { Thread.new { pull.recv } }
        5.times { Thread.new { full.send("x") } }
        [pull, full].each { |socket| until_waiting(socket, 5) }
        #{source}
      RUBY
      refute result.timed_out, result.to_s
      assert_equal [status], [result.status.exitstatus], result.to_s
    end
  end

  test "exit within an Async reactor with waiting fibers" do
    not_on :ffi, "a wait there holds its thread"
    ["exit 3", "raise SystemExit.new(3)", "Thread.new { exit 3 }; task.sleep(9)"].each do |source|
      result = run_child(<<~RUBY, gems: true)
        ENV["CONSOLE_LEVEL"] = "fatal"
        require "godwit"
        require "async"
        pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
        Async do |task|
          5.times { task.async { pull.recv } }
          task.async { pull.each { } }
          #{source}
        end
      RUBY
      refute result.timed_out, "#{source}: #{result}"
      assert_equal 3, result.status.exitstatus, "#{source}: #{result}"
    end
  end

  test "exit in a block form, and with a context in its block form" do
    result = run_child(<<~RUBY)
      require "godwit"
      at_exit { puts $opened.all?(&:closed?) }
      Godwit::Context.new(linger: 0) do |context|
        Godwit::PUSH.connect("tcp://127.0.0.1:1", context: context) do |push|
          $opened = [context, push]
          push.send("x")
          exit 3
        end
      end
    RUBY
    assert_equal [3, "true\n"], [result.status.exitstatus, result.stdout], result.to_s
  end

  # If Godwit closed sockets in an at_exit block, that block would run before minitest's block,
  # which runs the tests.
  test "at_exit blocks still use sockets, in any order of registration" do
    not_on :ffi, "its end is an at_exit block: earlier blocks run after it"
    result = run_child(<<~RUBY, gems: true)
      require "minitest/autorun"
      require "godwit"
      PULL = Godwit::PULL.bind("tcp://127.0.0.1:*")
      PUSH = Godwit::PUSH.connect(PULL.last_endpoint)
      at_exit { PUSH.send("from at_exit"); puts PULL.recv(timeout: 5) }
      class LateTest < Minitest::Test
        def test_sockets
          PUSH.send("in a test")
          assert_equal "in a test", PULL.recv(timeout: 5)
          Godwit::REQ.new.close
        end
      end
    RUBY
    assert_child(result)
    assert_includes result.stdout, "1 runs, 1 assertions, 0 failures, 0 errors"
    assert_includes result.stdout, "from at_exit"
  end

  test "objects that are collected at the end in any order, under an end that stresses the " \
    "collector" do
    assert_child(run_child(<<~RUBY))
      require "godwit"
      # The FFI backend makes more objects, and a full collection there takes 20 ms. So it has
      # fewer contexts, and collects only young objects at each allocation.
      contexts = Array.new((Godwit::BACKEND == :native) ? 5 : 1) { Godwit::Context.new(linger: 0) }
      sockets =
        contexts.flat_map do |context|
          %i[REQ REP PUB SUB PUSH PULL].map { |type| context.socket(type) }
        end
      sockets.each { |socket| socket.bind("tcp://127.0.0.1:*") }
      sockets.each { |object| ObjectSpace.define_finalizer(object, proc { GC.start }) }
      GC.stress = (Godwit::BACKEND == :native) ? true : 0x01
      sockets.first(3).each(&:close)
      contexts.first.shutdown
      sockets = contexts = nil
    RUBY
  end
end
