# frozen_string_literal: true

require "test_helper"

# Contexts and sockets that several threads open and close at once.
class ContextsTest < Godwit::TestCase
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

  # Those who wait leave their socket a little later than the context looks for the longest linger.
  test "Context#close gives linger to sockets that others wait on" do
    home = own(Godwit::Context.new(linger: 2.5))
    port = open_socket(:PULL).bind(endpoint_for(:tcp)).then { |socket| [socket.port, socket.close].first }
    dealer = own(Godwit::DEALER.connect("tcp://127.0.0.1:#{port}", context: home, reconnect_interval: 0.01))
    dealer.send("late")
    waiter = in_thread { dealer.recv }
    until_asleep(waiter)
    started = monotonic
    closer = in_thread { home.close && nil }
    assert_raises(Godwit::ClosedError) { waiter.value }
    refute closer.join(1.5), "close gave up after #{monotonic - started} s, with a message unsent"
    peer = open_socket(:DEALER).bind("tcp://127.0.0.1:#{port}")
    assert_equal "late", peer.recv(timeout: 5)
    assert closer.join(5)
  end

  test "sockets opened, used and closed by many threads while the context closes" do
    5.times do
      home = own(Godwit::Context.new(linger: 0))
      workers = Array.new(6) do |number|
        in_thread do
          loop do
            one = Godwit::DEALER.bind("inproc://#{number}", context: home)
            other = Godwit::DEALER.connect("inproc://#{number}", context: home)
            one.send("x")
            other.recv
            [one, other].each(&:close)
          end
        rescue Godwit::AddressInUseError
          retry # libzmq forgets a name a moment after its socket
        rescue Godwit::ClosedError, Godwit::ContextTerminatedError
          :closed
        end
      end
      Thread.pass
      home.close
      workers.each { |worker| assert_equal :closed, worker.value }
      assert_empty ObjectSpace.each_object(Godwit::DEALER).reject { |socket| socket.closed? || socket.context != home }
    end
  end

  test "close from many threads at once, with many waiting" do
    30.times do
      pull = open_socket(:PULL).bind(endpoint_for(:inproc))
      waiters = Array.new(10) { in_thread { pull.recv } }
      until_asleep(*waiters)
      Array.new(4) { in_thread { pull.close } }.each(&:join)
      waiters.each { |waiter| assert_raises(Godwit::ClosedError) { waiter.value } }
    end
  end

  # Under steady traffic of others there is always something new; a deadline counts all the same.
  test "a deadline holds beside others that are always quicker" do
    router = open_socket(:ROUTER, mandatory: true, send_hwm: 1).bind(endpoint_for(:inproc))
    full, busy = %w[full busy].map { |id| open_socket(:DEALER, routing_id: id, recv_hwm: 1).connect(router.last_endpoint) }
    [full, busy].each { |peer| peer.send("here") && router.recv }
    nil until router.send_nonblock(%w[full x], exception: false) == :wait_writable
    stop = false
    3.times { in_thread { router.send(%w[busy x]) until stop } }
    3.times { in_thread { router.recv until stop } }
    2.times { in_thread { busy.recv && busy.send("y") until stop } }
    late = Array.new(5) do
      started = monotonic
      assert_nil router.send(%w[full x], timeout: 0.1, exception: false)
      monotonic - started - 0.1
    end
    stop = true
    # Ruby's own slices are 100 ms, and eight others are at work.
    assert_operator late.min, :<, 1.0, "#{late.map { |seconds| seconds.round(2) }} s late"
  end
end
