# frozen_string_literal: true

require "test_helper"
require_relative "counting"
require "support/tiny_scheduler"
require_relative "shim/shim"
ENV["CONSOLE_LEVEL"] ||= "fatal"
require "async"

# Pollers: the cost of an idle socket, garbage collection, and Linux's limit of waiters.
class NativePollerTest < Godwit::TestCase
  include Godwit::TestSupport::Counting

  Shim = Godwit::TestSupport::Shim
  Tiny = Godwit::TestSupport::TinyScheduler

  # Windows.looks counts the reads of ZMQ_EVENTS and of an epoll.
  test "a wait asks nothing of a socket that is idle, and allocates nothing for it" do
    result = run_child(<<~RUBY, deadline: 25, env: Shim.windows)
      #{Shim::PRELUDE}
      Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE).last)
      context = Godwit::Context.new(max_sockets: 2000)
      seen = [10, 1000].map do |count|
        idle = Array.new(count) { Godwit::PULL.new(context: context) }
        pull = Godwit::PULL.bind("inproc://\#{count}", context: context)
        push = Godwit::PUSH.connect("inproc://\#{count}", context: context)
        poller = Godwit::Poller.new(*idle, pull)
        counts = -> { [Windows.looks, GC.stat(:total_allocated_objects)] }
        measure = lambda do |&work|
          Array.new(3) do
            GC.start
            GC.disable
            before = counts.call
            work.call
            counts.call.zip(before).map { |one, other| one - other }
          ensure
            GC.enable
          end.last
        end
        [
          measure.call { 100.times { poller.wait(0) } },
          measure.call { 10.times { poller.wait(0.001) } },
          measure.call { 100.times { push.send("x"); poller.wait; pull.recv } }
        ]
      end
      p(*seen)
      abort "it grows" unless seen.uniq.size == 1
      nothing, slept, one = seen.last
      abort "too many looks" if nothing[0] > 110 || slept[0] > 30 || one[0] > 500
      abort "too many objects" if nothing[1] > 110 || one[1] > 510
    RUBY
    assert_child(result)
  end

  test "registered objects are not collected, nor the IO that to_io gives" do
    leaks_allowed!
    poller = open_poller
    out, into = pipe
    source = Struct.new(:fd) { def to_io = IO.for_fd(fd, autoclose: false) }.new(out.fileno)
    in_thread do
      poller.register(Godwit::PULL.bind("inproc://kept", context: context)).register(source)
    end.join
    5.times { in_thread { GC.start }.join }
    push = open_socket(:PUSH).connect("inproc://kept")
    push.send("x")
    assert_equal "x", poller.wait(5).first.object.recv
    into << "y"
    assert_equal [source], poller.wait(5).map(&:object)
  end

  # MALLOC_PERTURB_ overwrites freed memory, so a read of that memory crashes.
  test "sockets, pollers and waiting fibers dropped at once, in any order" do
    assert_child(run_child(<<~RUBY, env: {"MALLOC_PERTURB_" => "165"}, deadline: 20))
      require "godwit"
      require "./test/support/tiny_scheduler"
      pull = Godwit::PULL.bind("inproc://stays")
      push = Godwit::PUSH.connect("inproc://stays")
      30.times do
        Godwit::TestSupport::TinyScheduler.thread do |scheduler|
          scheduler.careless = true
          10.times do
            sockets = Array.new(3) { Godwit::PULL.new }
            pollers = Array.new(3) { Godwit::Poller.new(pull, *sockets.shuffle) }
            pollers.each { |poller| Fiber.schedule { poller.wait } }
            Fiber.schedule { sockets.first.recv }
          end
        end.join
        GC.start
        Array.new(1000) { "x" * 50 }
        push.send("x")
        abort "the socket that stays is disturbed" unless pull.recv(timeout: 5) == "x"
      end
      abort "nothing was collected" if ObjectSpace.each_object(Godwit::Poller).count > 450
      exit!(0)
    RUBY
  end

  test "the last fiber that waited on a closed poller, when it is collected, closes its " \
    "descriptor" do
    leaks_allowed!
    pull = open_socket(:PULL)
    pollers = Array.new(30) { Godwit::Poller.new(pull) }
    before = descriptors
    pollers.each { |poller| leave_fiber_behind { poller.wait } }
    pollers.each(&:close)
    eventually("they keep their descriptors") do
      in_thread { GC.start }.join
      descriptors <= before - 20
    end
    assert pollers.all?(&:closed?)
  end

  test "more fibers on one poller than Linux allows to wait get an error, and the others wait on" do
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    poller = open_poller(pull)
    outcomes = Sync do |task|
      tasks = Array.new(150) { task.async { poller.wait(10).size } }
      push.send("x")
      tasks.map do |one|
        one.wait
      rescue Godwit::PollerError => error
        error
      end
    end
    errors, sizes = outcomes.partition { |outcome| outcome.is_a?(Exception) }
    assert_operator sizes.size, :>=, 90
    assert_equal [1], sizes.uniq
    errors.each { |error| assert_match(/too many fibers wait.*some 100/, error.message) }
    assert_equal [pull], poller.wait(HANG).map(&:object)
  end

  private

  def leave_fiber_behind(&block)
    thread = Tiny.thread do |scheduler|
      scheduler.careless = true
      Fiber.schedule(&block)
    end
    assert thread.join(5)
  end
end
