# frozen_string_literal: true

require_relative "support/mruby_case"

# In mruby a socket belongs to a VM, and the default context to the process: how each of them ends.
class MRubyOwnershipTest < MRubyCase
  test "mrb_close ends within linger and a second when no peer ever connects" do
    assert_host(<<~'RUBY')
      SLACK = 4 # seconds, for a busy machine
      ends = lambda do |linger, code|
        vm = Host.open
        start = Godwit::Timeout.now # the code may close its socket, which begins linger
        same("1", Host.run(vm, code.sub("LINGER", linger.to_s) + "; 1"))
        seconds = Host.close(vm)
        check(seconds <= linger + 1 + SLACK, "linger #{linger}: #{seconds} s")
        check(Godwit::Timeout.now - start >= linger, "linger #{linger}: too early")
      end
      connect = "connect('tcp://127.0.0.1:9'"
      [0, 0.2].each do |linger|
        ends.call(linger, "$s = Godwit::PUSH.#{connect}, linger: LINGER) << 'x'")
        ends.call(linger, "$c = Godwit::Context.new(linger: LINGER); " \
          "$s = $c.socket(:PUSH).#{connect}) << 'x'")
        ends.call(linger, "Godwit.context.linger = LINGER; " \
          "Godwit::PUSH.#{connect}) { |s| s << 'x' }")
      end
    RUBY
  end

  test "the collector does not wait for a dropped socket or context, and libzmq goes on sending" do
    assert_host(<<~'RUBY', "ipc://#{scratch_dir}/later")
      drop = lambda do
        Godwit::PUSH.connect(ARGV.first, linger: 30) << "x"
        Godwit::Context.new(linger: 30).socket(:PUSH).connect(ARGV.first) << "x"
        nil
      end
      start = Godwit::Timeout.now
      10.times { drop.call }
      GC.start
      check(Godwit::Timeout.now - start < 20, "the collector waited")
      left = 0
      ObjectSpace.each_object(Godwit::PUSH) { left += 1 }
      check(left <= 4, "#{left} sockets were not collected")
      pull = Godwit::PULL.bind(ARGV.first)
      20.times { same("x", pull.recv(timeout: 20)) }
    RUBY
  end

  test "sockets of two VMs meet over inproc, on one thread and on two; a VM closes only its own" do
    assert_host(<<~RUBY)
      pull = Godwit::PULL.bind("inproc://vms")
      vm = Host.open
      same("[true, true]", Host.run(vm, "socket = Godwit::PUSH.connect('inproc://vms') << 'one'; " \
        "Godwit.context.close; [socket.closed?, Godwit.context.usable?]"))
      same("one", pull.recv(timeout: 5))
      Host.close(vm)
      thread = Host.start("Godwit::REQ.connect('inproc://thread').request('two', timeout: 20)")
      rep = Godwit::REP.bind("inproc://thread")
      same("two", rep.recv(timeout: 20))
      rep << "three"
      same('"three"', Host.join(thread))
      same("one", (Godwit::PUSH.connect("inproc://vms") << "one") && pull.recv(timeout: 5))
    RUBY
  end

  test "threads with a VM each open, use and close sockets at the same time" do
    assert_host(<<~'RUBY')
      code = "20.times { |i| " \
        "Godwit::PAIR.bind(\"inproc://pair-%d-#{'#{i}'}\") { |a| " \
        "Godwit::PAIR.connect(a.last_endpoint) { |b| b << 'x'; a.recv(timeout: 10) } } }; :ok"
      threads = Array.new(8) { |number| Host.start(code.sub("%d", number.to_s)) }
      threads.each { |thread| same(":ok", Host.join(thread)) }
    RUBY
  end

  test "a forked child cannot use its parent's sockets, and has its own" do
    assert_host(<<~RUBY)
      pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
      push = Godwit::PUSH.connect(pull.last_endpoint)
      poller = Godwit::Poller.new(pull)
      context = Godwit::Context.new
      calls = [
        -> { push << "x" }, -> { push.send_many(["x"]) }, -> { pull.recv }, -> { pull.recv_many },
        -> { pull.close }, -> { pull.recv_hwm }, -> { pull.bind("inproc://x") },
        -> { pull.wait_readable(0) }, -> { poller.wait(0) }, -> { poller.close },
        -> { context.close }, -> { Godwit::PULL.new(context: context) }
      ]
      status = Host.fork do
        calls.each { |call| raised(Godwit::ForkedError, &call) }
        own = Godwit::PAIR.bind("inproc://own")
        Godwit::PAIR.connect("inproc://own") << "x"
        same("x", own.recv(timeout: 5))
      end
      same(0, status, "the child's status")
      push << "after"
      same("after", pull.recv(timeout: 5))
    RUBY
  end
end
