# frozen_string_literal: true

require "test_helper"

# A forked child never touches what it inherited, and the parent never notices that it was there (law 7).
class ForkTest < Godwit::TestCase
  PRELUDE = <<~RUBY
    require "godwit"

    # Forks; the child ends with 0 unless the block raises, says false, or takes too long.
    def in_child(seconds = 5)
      pid = fork do
        Thread.new { sleep(seconds); warn "the child hangs"; exit!(3) }
        begin
          exit!(yield ? 0 : 1)
        rescue Exception => error
          warn error.full_message(highlight: false)
          exit!(2)
        end
      end
      _, status = Process.wait2(pid)
      abort "the child ended with \#{status}" unless status.success?
    end

    def forked
      yield
      raise "no ForkedError"
    rescue Godwit::ForkedError
      true
    end

    def pair(context = Godwit.context)
      pull = Godwit::PULL.bind("tcp://127.0.0.1:*", context: context)
      [pull, Godwit::PUSH.connect(pull.last_endpoint, context: context)]
    end

    def check(pull, push)
      push.send("still here")
      abort "the parent was disturbed" unless pull.recv(timeout: 5) == "still here"
      true
    end
  RUBY

  test "every call on an inherited socket or context raises ForkedError, and GC leaves them alone" do
    assert_done <<~RUBY
      pull, push = pair
      check(pull, push)
      pub = Godwit::PUB.bind("tcp://127.0.0.1:*")
      context = Godwit.context
      in_child do
        calls = [
          -> { pull.recv }, -> { pull.recv(timeout: 1) }, -> { pull.recv_many }, -> { pull.recv_into(+"") }, -> { pull.recv_nonblock },
          -> { pull.wait_readable(0) }, -> { pull.events }, -> { pull.each { } }, -> { push.send("x") }, -> { push << "x" },
          -> { push.send_many(["x"]) }, -> { push.send_nonblock("x") }, -> { push.wait_writable }, -> { pub.wait_connected },
          -> { pull.bind("tcp://127.0.0.1:*") }, -> { push.connect("tcp://127.0.0.1:1") }, -> { pull.unbind(pull.last_endpoint) },
          -> { push.linger }, -> { push.linger = 1 }, -> { push.zmq_fd }, -> { push.pointer }, -> { pull.close },
          -> { context.shutdown }, -> { context.close }, -> { context.max_sockets }, -> { Godwit::REQ.new(context: context) }
        ]
        calls.each_with_index do |call, index|
          forked { call.call }
        rescue => error
          raise "call \#{index}: \#{error.full_message}"
        end
        [pull, push, context].each(&:inspect)
        raise "the default context is the parent's" if Godwit.context.equal?(context)
        check(*pair)
        pull = push = context = nil
        3.times { GC.start; GC.compact }
        true
      end
      check(pull, push)
    RUBY
  end

  %w[exit exit! abort raise exec kill].each do |ending|
    test "a child that ends by #{ending} does not disturb the parent" do
      assert_done <<~RUBY
        pull, push = pair
        check(pull, push)
        pid = fork do
          $stderr.reopen(File::NULL)
          check(*pair) if #{ending != "exec"}
          case #{ending.inspect}
          when "exit" then exit(0)
          when "exit!" then exit!(0)
          when "abort" then abort
          when "raise" then raise "oh"
          when "exec" then exec("true")
          when "kill" then Process.kill(:KILL, Process.pid)
          end
        end
        Process.wait(pid)
        100.times { check(pull, push) }
      RUBY
    end
  end

  test "fork while other threads and fibers wait, and while a context ends" do
    assert_done(<<~RUBY, gems: true)
      require "async"
      pull, push = pair
      waiters = Array.new(3) { Thread.new { pull.recv } }
      Thread.pass until waiters.all? { |waiter| waiter.status == "sleep" }
      reactor = Thread.new { Async { |task| 3.times { task.async { pull.recv } } } }
      Thread.pass until reactor.status == "sleep"
      20.times do
        ending = Godwit::Context.new(linger: 0.2)
        Godwit::PUSH.connect("tcp://127.0.0.1:1", context: ending).send("never")
        closer = Thread.new { ending.close }
        Thread.pass until closer.status == "sleep"
        in_child do
          forked { pull.recv }
          waiters = reactor = nil
          3.times { GC.start; GC.compact }
          forked { pull.events }
          check(*pair)
        end
      end
      6.times { push.send("x") }
      (waiters + [reactor]).each { |waiter| waiter.join(5) or abort "a waiter in the parent was disturbed" }
      in_child { check(*pair); GC.start; true }
    RUBY
  end

  test "a child does not wait for a context that its parent was ending" do
    assert_done <<~RUBY
      ending = Godwit::Context.new(linger: 4)
      Godwit::PUSH.connect("tcp://127.0.0.1:1", context: ending).send("never")
      closer = Thread.new { ending.close }
      Thread.pass until closer.status == "sleep"
      started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      Process.wait(fork { exit(0) })
      abort "it waited" if Process.clock_gettime(Process::CLOCK_MONOTONIC) - started > 2
    RUBY
  end

  # The fiber that waits goes with its scheduler in the child; the list that its socket keeps must not.
  test "a child that collects fibers that waited in the parent" do
    assert_done(<<~RUBY, env: {"MALLOC_PERTURB_" => "165"}) # what is freed is overwritten
      require "./test/support/tiny_scheduler"
      pull, push = pair
      thread = Thread.new do
        Fiber.set_scheduler(Godwit::TestSupport::TinyScheduler.new)
        20.times { Fiber.schedule { pull.recv } }
        Fiber.scheduler.run
      end
      Thread.pass until thread.status == "sleep"
      in_child do
        thread = nil
        5.times { GC.start; GC.compact; Array.new(1000) { Object.new } }
        GC.verify_compaction_references(toward: :empty)
        forked { pull.recv }
      end
      20.times { push.send("x") }
      thread.join(5) or abort "the parent was disturbed"
    RUBY
  end

  # The child comes back into the middle of the wait: libzmq would answer it "interrupted" for ever.
  test "a fork in a trap handler while the main thread waits" do
    assert_done <<~RUBY
      pull, push = pair
      children = []
      trap(:USR1) do
        pid = fork
        pid ? children << pid : Thread.new { sleep(5); exit!(3) }
      end
      parent = Process.pid
      helper = Thread.new do
        3.times do |turn|
          Thread.pass until Thread.main.status == "sleep" && children.size == turn
          Process.kill(:USR1, parent)
        end
        Thread.pass until children.size == 3
        push.send("to the parent")
      end
      begin
        message = pull.recv
      rescue Godwit::ForkedError
        exit!(Process.pid == parent ? 4 : 0)
      end
      abort "the wait ended in a child" unless Process.pid == parent
      abort message unless message == "to the parent"
      helper.join
      children.each { |pid| abort "a child ended with \#{$?}" unless Process.wait(pid) && $?.success? }
    RUBY
  end

  test "a fiber that waits, woken in a child that goes on with the scheduler" do
    assert_done <<~RUBY
      require "./test/support/tiny_scheduler"
      pull, push = pair
      thread = Thread.new do
        Fiber.set_scheduler(Godwit::TestSupport::TinyScheduler.new)
        outcome = nil
        Fiber.schedule { outcome = (pull.recv rescue $!.class) }
        pid = fork
        unless pid
          Thread.new { sleep(5); exit!(3) }
          Fiber.scheduler.turn until outcome # the parent's message makes the shared descriptor readable here too
          exit!(outcome == Godwit::ForkedError ? 0 : 4)
        end
        push.send("x")
        _, status = Process.wait2(pid)
        abort "the child ended with \#{status}" unless status.success?
        Fiber.scheduler.run
        outcome
      end
      abort thread.value.inspect unless thread.value == "x"
    RUBY
  end

  test "fork in a loop, each child with its own sockets, and children of children" do
    assert_done <<~RUBY
      pull, push = pair
      30.times do
        in_child do
          check(*pair)
          in_child { check(*pair) }
          check(*pair)
        end
        check(pull, push)
      end
    RUBY
  end

  test "a child that exits normally delivers what it sent, within linger" do
    assert_done <<~RUBY
      pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
      pid = fork do
        push = Godwit::PUSH.connect(pull.endpoints.first)
        1000.times { |number| push.send(number.to_s) }
      end
      1000.times { |number| abort number.to_s unless pull.recv(timeout: 5) == number.to_s }
      Process.wait(pid)
      abort "\#{$?}" unless $?.success?
    RUBY
  end

  test "Process.daemon: the daemon starts with a context of its own" do
    assert_done <<~RUBY
      pull, push = pair
      reader, writer = IO.pipe
      pid = fork do
        Process.daemon(true, true)
        forked { push.send("x") }
        check(*pair)
        writer.write("well")
      end
      writer.close
      abort "the daemon failed" unless reader.read == "well"
      Process.wait(pid)
      check(pull, push)
    RUBY
  end

  test "system, spawn and popen leave everything as it is" do
    assert_done <<~RUBY
      pull, push = pair
      20.times do
        system("true") or abort
        Process.wait(spawn("true"))
        abort unless IO.popen("echo hi", &:read) == "hi\\n"
        check(pull, push)
      end
    RUBY
  end

  def assert_done(source, **options)
    result = assert_child(run_child("#{PRELUDE}\n#{source}\nputs 'done'", deadline: 25, **options))
    assert_includes result.stdout, "done"
  end
end
