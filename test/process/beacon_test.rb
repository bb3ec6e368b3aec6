# frozen_string_literal: true

require "test_helper"
require "support/network"
require_relative "forking"

# A Godwit::Beacon over fork, signals and exit; and in the gem async's fibers.
class BeaconProcessTest < NetworkCase
  include Godwit::TestSupport::Forking

  test "in a child every call raises ForkedError, GC leaves the beacon alone, and the parent's " \
    "keeps running" do
    assert_done <<~RUBY
      beacon = Godwit::Beacon.new(9400, interval: 0.01, noecho: false).subscribe.publish("x")
      beacon.recv(timeout: 5)
      in_child do
        calls = [
          -> { beacon.publish("y") }, -> { beacon.silence }, -> { beacon.subscribe },
          -> { beacon.unsubscribe }, -> { beacon.recv }, -> { beacon.recv(timeout: 0) },
          -> { beacon.recv_nonblock }, -> { beacon.each {} }, -> { beacon.wait_sent(1) },
          -> { beacon.interval }, -> { beacon.interval = 1 }, -> { beacon.noecho? },
          -> { beacon.noecho = true }, -> { beacon.hostname }, -> { beacon.interface },
          -> { beacon.port }, -> { beacon.sent }, -> { beacon.failed }, -> { beacon.last_error },
          -> { beacon.dropped }, -> { beacon.close }, -> { beacon.closed? }
        ]
        calls.each_with_index do |call, index|
          forked { call.call }
        rescue => error
          raise "call \#{index}: \#{error.full_message}"
        end
        raise beacon.inspect unless beacon.inspect.end_with?("(opened before fork)>")
        # The parent's are received.
        Godwit::Beacon.new(9400, noecho: false) { |own| own.subscribe("x").recv(timeout: 5) }
        beacon = calls = nil
        3.times { GC.start }
        true
      end
      sent = beacon.sent
      beacon.wait_sent(sent + 3, timeout: 5)
      beacon.recv(timeout: 5)
    RUBY
  end

  test "a child that ends within the block form leaves it to its parent" do
    assert_done <<~RUBY
      Godwit::Beacon.new(9401, interval: 0.01) do |beacon|
        beacon.publish("x")
        pid = fork
        next unless pid # out of the block, in the child
        abort "the child failed" unless Process.wait2(pid).last.success?
        beacon.wait_sent(beacon.sent + 3, timeout: 5)
        in_child { Godwit::Beacon.new(9401) { |own| own.closed? == false } }
      end
    RUBY
  end

  test "a child that was forked at any moment of the parent's thread" do
    assert_done <<~RUBY
      beacon = Godwit::Beacon.new(9402, interval: 0.001, noecho: false).subscribe.publish("x")
      reader = Thread.new { beacon.each { } }
      40.times { in_child { forked { beacon.recv } } }
      beacon.close
      reader.join(5) or abort "the reader hangs"
    RUBY
  end

  test "Ctrl-C ends a wait, and the process" do
    source = <<~RUBY
      require "godwit"
      begin
        beacon = Godwit::Beacon.new(9403).subscribe("y")
        when_waiting(count_waiters(beacon.instance_variable_get(:@thread), :@changed)) do
          puts "ready"
        end
        beacon.recv
      rescue Interrupt
        puts "interrupted"
      end
    RUBY
    result = assert_child run_child(source, signal: :INT)
    assert_equal "ready\ninterrupted\n", result.stdout
    assert_empty result.stderr
  end

  test "a trap block may close it under its reader" do
    source = <<~RUBY
      require "godwit"
      beacon = Godwit::Beacon.new(9404, interval: 0.001, noecho: false).subscribe.publish("x")
      trap(:TERM) { beacon.close }
      puts "ready"
      $stdout.flush
      beacon.each { }
      puts beacon.closed?
    RUBY
    assert_equal "ready\ntrue\n", assert_child(run_child(source, signal: :TERM)).stdout
  end

  test "a process with open beacons ends at once, by itself and by exit!" do
    ["", "exit!(0)"].each do |ending|
      source = <<~RUBY
        require "godwit"
        beacons = Array.new(3) do |number|
          Godwit::Beacon.new(9405, interval: 0.001).subscribe.publish(number.to_s)
        end
        Thread.new { beacons[0].each { } }
        beacons[1].recv(timeout: 5)
        puts "done"
        $stdout.flush
        #{ending}
      RUBY
      result = assert_child run_child(source)
      assert_equal ["done\n", ""], [result.stdout, result.stderr]
    end
  end

  test "without a descriptor it raises, and leaves none open" do
    source = <<~RUBY
      require "godwit/beacon"
      Godwit::Beacon.new(9407) { } # all is loaded
      open_now = -> { Dir.children("/proc/self/fd").size }
      before = open_now.call
      20.times { Godwit::Beacon.new(9407) { |beacon| beacon.publish("x") } }
      puts "left open: \#{open_now.call - before}"
      failed = 0
      (4..100).find do |limit|
        Process.setrlimit(:NOFILE, limit, Process.getrlimit(:NOFILE).last)
        Godwit::Beacon.new(9407) { |beacon| beacon.publish("x").wait_sent(1, timeout: 5) }
      rescue Godwit::TooManySocketsError
        failed += 1
        nil
      end
      Process.setrlimit(:NOFILE, 1024, Process.getrlimit(:NOFILE).last)
      puts "failed: \#{failed > 4}, left open: \#{open_now.call - before}"
      u = UDPSocket.new
      u.bind("0.0.0.0", 9408)
      20.times { Godwit::Beacon.new(9408) rescue Godwit::AddressInUseError }
      u.close
      puts "left open: \#{open_now.call - before}"
    RUBY
    result = assert_child run_child(source)
    assert_equal "left open: 0\nfailed: true, left open: 0\nleft open: 0\n",
      result.stdout,
      result.stderr
  end

  test "it waits in the gem async's fibers" do
    source = <<~RUBY
      require "godwit"
      require "godwit/beacon" # on Ruby 3.1 a task of async that requires anything is lost
      require "async"
      order = Queue.new
      Async do |task|
        beacon = Godwit::Beacon.new(9406, interval: 0.02, noecho: false).subscribe
        readers = Array.new(2) { task.async { order << beacon.recv.last } }
        timed =
          task.async { order << beacon.wait_sent(1000, timeout: 0.05, exception: false).inspect }
        order << "first"
        timed.wait
        beacon.publish("x")
        readers.each(&:wait)
        ended = task.async { beacon.each { } }
        stopped = task.async { beacon.wait_sent(nil) }
        task.yield
        stopped.stop
        beacon.close
        order << (ended.wait.equal?(beacon) ? "ended" : "not ended")
      end
      puts Array.new(order.size) { order.pop }.join(" ")
    RUBY
    result = assert_child run_child(source, gems: true)
    assert_equal "first nil x x ended\n", result.stdout, result.stderr
  end
end
