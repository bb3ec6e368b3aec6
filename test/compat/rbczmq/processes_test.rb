# frozen_string_literal: true

require_relative "rbczmq_case"

# What signals, forks and exits do to programs for rbczmq, which run in child processes.
class RbczmqProcessesTest < Godwit::RbczmqCase
  # `signalled` repeats the signal until the block has ended, since a signal ends a wait only if it
  # arrives during the wait.
  HEAD = <<~RUBY
    require "godwit/compat/rbczmq"
    require "zmq"
    context = ZMQ::Context.new
    def signalled(waiter = nil)
      done = false
      signals = Thread.new do
        until_waiting(waiter) if waiter
        (Process.kill(:USR1, $$); sleep(POLL)) until done
      end
      yield
    ensure
      done = true
      signals.join
    end
  RUBY

  # Runs a script, and returns the lines that it printed.
  def lines(script, **options)
    assert_child(run_child(HEAD + script, **options)).stdout.lines.map(&:chomp)
  end

  test "a handled signal ends each wait, and the sockets work afterwards" do
    seen = lines(<<~RUBY, deadline: 20)
      # On JRuby handlers run in parallel, where one's `count += 1` may undo another's.
      handled = Queue.new
      trap(:USR1) { handled << true }
      pull = context.bind(:PULL, "inproc://a")
      push = context.bind(:PUSH, "inproc://b")
      poller = ZMQ::Poller.new
      poller.register(pull)
      calls = {
        recv: -> { [pull.recv, ZMQ.errno == Errno::EINTR::Errno] },
        recv_frame: -> { pull.recv_frame }, recv_message: -> { pull.recv_message },
        poll: -> { pull.poll(-1) }, poller: -> { poller.poll(-1) },
        select: -> { ZMQ.select([pull], [], [], -1) },
        loop: -> { ZMQ::Loop.run { ZL.register(pull) } }, proxy: -> { ZMQ.proxy(pull, push) },
        again: -> { ZMQ::Loop.run { ZL.register(pull) } },
        send: -> { push.send("nobody takes it") rescue $!.class },
        send_message: -> { push.send_message(ZMQ::Message("nor this")) }
      }
      calls.each do |name, call|
        before = handled.size
        result = signalled(&call)
        puts [name, result.inspect, handled.size > before].join(" ")
      end
      context.connect(:PUSH, "inproc://a").send("still works")
      p pull.recv
    RUBY
    assert_equal [
      "recv [nil, true] true", "recv_frame nil true", "recv_message nil true", "poll false true",
      "poller -1 true", "select [[], [], []] true", "loop 0 true", "proxy -1 true", "again 0 true",
      "send Errno::EINTR true", "send_message nil true", '"still works"'
    ], seen
  end

  # Ruby runs trap handlers also between two steps of a wait, and while the wait holds a lock.
  test "nested handled signals end waits and leave no state behind" do
    seen = lines(<<~RUBY, deadline: 30)
      trap(:USR1) {}
      pull = context.bind(:PULL, "inproc://a")
      signalled do
        (RUBY_ENGINE == "jruby" ? 30 : 300).times do # JRuby may delay an interrupt by 20 ms
          pull.poll(1)
          pull.recv_frame
          poller = ZMQ::Poller.new
          poller.register(pull)
          poller.poll(0.001)
          poller.remove(pull)
        end
      end
      push = context.connect(:PUSH, "inproc://a")
      push.send("still works")
      p pull.recv
    RUBY
    assert_equal ["\"still works\""], seen
  end

  test "a handler that destroys the context, closes a socket, stops a loop" do
    not_on :jruby, "a handler runs in another thread, which may not close this thread's socket"
    seen = lines(<<~RUBY)
      pull = context.bind(:PULL, "inproc://a")
      once = nil
      trap(:USR1) { once ||= [ZL.stop] }
      p signalled { ZMQ::Loop.run { ZL.register(pull) } }, once
      once = nil
      trap(:USR1) { once ||= [pull.close] }
      p signalled(pull.godwit) { pull.recv }, once
      pull = context.bind(:PULL, "inproc://b")
      once = nil
      trap(:USR1) { once ||= [context.destroy] }
      p signalled(pull.godwit) { pull.recv }, once, ZMQ.context
      begin
        pull.recv
      rescue ZMQ::Error => error
        p error.class
      end
      ZMQ::Context.new.destroy
    RUBY
    assert_equal ["0", "[nil]", "nil", "[nil]", "nil", "[nil]", "nil", "ZMQ::Error"], seen
  end

  # In a trap handler scripts call `remove` and `stop` of ZL, which is ZMQ::Loop, and
  # Context#destroy.
  test "a handler that takes out of a loop and puts into it, makes timers and cancels them" do
    not_on :jruby, "its handlers run in another thread, which may lock"
    seen = lines(<<~RUBY)
      push = context.bind(:PUSH, "inproc://a")
      pull, other = Array.new(2) { context.connect(:PULL, "inproc://a") }
      received = []
      handler = Class.new(ZMQ::Handler) { define_method(:on_readable) { received << recv } }
      change = nil # the handler may run several times, and before the loop
      loop = item = late = nil
      trap(:USR1) { change.call.then { change = nil } if change && loop&.running? }

      never = ZMQ::Timer.new(1000, 1) { received << :never }
      change = lambda do
        ZL.remove(item)
        ZL.register_readable(other, handler)
        ZL.cancel_timer(never)
      end
      p(signalled do
        ZMQ::Loop.run do
          loop = ZL.__send__(:instance)
          item = ZL.register_readable(pull, handler)
          ZL.register_timer(never)
        end
      end)
      2.times { |number| push.send(number.to_s) } # one for each PULL
      ticks = 0
      clock = ZMQ::Timer.new(0.001, 0) { !((ticks += 1) > 20 && received.any?) }
      loop.register_timer(clock)
      p loop.start, received.size, pull.recv.class

      loop.cancel_timer(clock)
      loop.register(item) # works though the handler has removed the item
      change = -> do
        p push.monitor("inproc://m") &&
            loop.register_timer(late = ZMQ::Timer.new(0.001, 1) { false })
      end
      p signalled { loop.start }, loop.start

      change = lambda do
        ZL.remove(other)
        ZL.stop
        context.destroy
        ZMQ::Context.new.destroy
        ZMQ::Loop.new.start
      rescue ZMQ::Error => error
        puts error.message
      end
      p signalled { loop.start }, ZMQ.context
    RUBY
    assert_equal [
      "0", "-1", "1", "String", "true", "0", "-1", "Ruby lets no loop run in a trap block", "0",
      "nil"
    ], seen
  end

  test "a timer that a handler cancels does not fire, though it is due" do
    not_on :jruby, "its handlers run in another thread, which may lock"
    seen = lines(<<~RUBY)
      handled = false
      timer = ZMQ::Timer.new(0, 1) { puts "fired" }
      trap(:USR1) { handled = ZL.cancel_timer(timer) }
      p(ZMQ::Loop.run do
        ZL.register_timer(timer)
        Process.kill(:USR1, $$)
        Thread.pass until handled
        ZL.add_oneshot_timer(0.02) { false }
      end)
    RUBY
    assert_equal ["-1"], seen
  end

  test "a handler that was set before the context stays, and trap returns it" do
    not_on :jruby, "its trap gives back other objects than it took"
    seen = lines(<<~RUBY)
      context.destroy
      handler = proc { puts "mine" }
      p trap(:INT, handler).class
      trap(:TERM) { puts "mine too" }
      context = ZMQ::Context.new
      %i[INT TERM].each { |name| Process.kill(name, $$) }
      p Signal.trap(:INT, "DEFAULT").equal?(handler)
      p trap(:TERM, "IGNORE").class, trap(:TERM, nil), Kernel.trap("TERM") {}
    RUBY
    assert_equal ["String", "mine", "mine too", "true", "Proc", "\"IGNORE\"", "nil"],
      seen.reject { |line| line == "\"DEFAULT\"" }
  end

  test "interrupted! ends the loops" do
    seen = lines(<<~RUBY)
      p ZMQ.interrupted?
      p ZMQ::Loop.run { ZL.add_oneshot_timer(0.01) { ZMQ.interrupted! } }
      p ZMQ.interrupted?, ZMQ.interrupted!, ZMQ::Loop.run { ZL.add_oneshot_timer(0) { false } }
    RUBY
    assert_equal %w[false 0 true nil 0], seen
  end

  test "a child may not use inherited objects, and can make new ones" do
    not_on :ffi, "a forked child cannot use it"
    seen = lines(<<~RUBY)
      pull = context.bind(:PULL, "tcp://127.0.0.1:*")
      $stdout.sync = true
      child = fork do
        p ZMQ.context
        calls = [
          -> { context.destroy }, -> { context.socket(:REP) }, -> { context.linger = 1 },
          -> { pull.recv }, -> { pull.recv_nonblock }, -> { pull.close }, -> { pull.rcvhwm = 1 }
        ]
        calls.each do |call|
          p call.call
        rescue ZMQ::Error => error
          p error.message[/another process/]
        end
        own = ZMQ::Context.new
        own.bind(:PUSH, "inproc://own")
        p own.equal?(ZMQ.context)
        own.linger = 0
        own.destroy
      end
      Process.wait(child)
      push = context.connect(:PUSH, pull.last_endpoint)
      push.send("the parent goes on")
      p pull.recv
    RUBY
    assert_equal ["nil", *["\"another process\""] * 7, "true", "\"the parent goes on\""], seen
  end

  test "a sent message is delivered after the end of the script, with nothing said of linger" do
    pull = ctx.bind(:PULL, "tcp://127.0.0.1:*")
    assert_empty lines(%(context.connect(:PUSH, "#{pull.last_endpoint}").send("last words")))
    pull.rcvtimeo = 5000
    assert_equal "last words", pull.recv
  end
end
