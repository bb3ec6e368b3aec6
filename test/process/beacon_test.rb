# frozen_string_literal: true

require "test_helper"
require "support/network"
require_relative "forking"

# A Godwit::Beacon at a fork, a signal and an exit.
class BeaconProcessTest < NetworkCase
  include Godwit::TestSupport::Forking

  FORKED_CALLS = [
    "publish('y')", "silence", "subscribe", "unsubscribe", "recv", "recv(timeout: 0)",
    "recv_nonblock", "each {}", "wait_sent(1)", "interval", "interval = 1", "noecho?",
    "noecho = true", "hostname", "interface", "port", "sent", "failed", "last_error", "dropped",
    "close", "closed?"
  ].freeze

  test "in a child every call raises ForkedError, GC leaves the beacon alone, and the parent's " \
    "keeps running" do
    assert_done <<~RUBY
      beacon = Godwit::Beacon.new(9400, interval: 0.01, noecho: false).subscribe.publish("x")
      beacon.recv(timeout: 5)
      in_child do
        #{FORKED_CALLS.map { |call| "forked { beacon.#{call} }" }.join("\n")}
        raise beacon.inspect unless beacon.inspect.end_with?("(opened before fork)>")
        # The child receives the parent's payloads.
        Godwit::Beacon.new(9400, noecho: false) { |own| own.subscribe("x").recv(timeout: 5) }
        beacon = nil
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
        next unless pid # the child leaves the block
        abort "the child failed" unless Process.wait2(pid).last.success?
        beacon.wait_sent(beacon.sent + 3, timeout: 5)
        in_child { Godwit::Beacon.new(9401) { |own| own.closed? == false } }
      end
    RUBY
  end

  test "a trap block may close a beacon that the main thread reads" do
    result = assert_child run_child(<<~RUBY, signal: :TERM)
      require "godwit"
      beacon = Godwit::Beacon.new(9403, interval: 0.001, noecho: false).subscribe.publish("x")
      trap(:TERM) { beacon.close }
      puts "ready"
      beacon.each { }
      puts beacon.closed?
    RUBY
    assert_equal ["ready\ntrue\n", ""], [result.stdout, result.stderr]
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
    assert_child(run_child(<<~RUBY))
      require "godwit/beacon"
      Godwit::Beacon.new(9407) { } # loads all files of Beacon
      before = descriptors
      none_open = -> { descriptors == before or abort "\#{descriptors - before} are left open" }
      20.times { Godwit::Beacon.new(9407) { |beacon| beacon.publish("x") } }
      none_open.call
      failed = 0
      (4..100).find do |limit|
        Process.setrlimit(:NOFILE, limit, Process.getrlimit(:NOFILE).last)
        Godwit::Beacon.new(9407) { |beacon| beacon.publish("x").wait_sent(1, timeout: 5) }
      rescue Godwit::TooManySocketsError
        failed += 1
        nil
      end
      Process.setrlimit(:NOFILE, 1024, Process.getrlimit(:NOFILE).last)
      abort "\#{failed} failed" unless failed > 4
      none_open.call
      UDPSocket.open do |taken|
        taken.bind("0.0.0.0", 9408)
        20.times { Godwit::Beacon.new(9408) rescue Godwit::AddressInUseError }
      end
      none_open.call
    RUBY
  end
end
