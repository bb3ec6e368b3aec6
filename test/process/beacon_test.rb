# frozen_string_literal: true

require "test_helper"
require "support/network"
require_relative "forking"

# A Godwit::Beacon over fork, signals and exit.
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
end
