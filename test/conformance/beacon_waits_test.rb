# frozen_string_literal: true

require "test_helper"
require_relative "beacons"
require "support/interrupts"
require "support/tiny_scheduler"

# Any number of threads share a Godwit::Beacon. The Beacon's own thread ends with the Beacon.
class BeaconWaitsTest < NetworkCase
  include Conformance::Beacons
  include Godwit::TestSupport::Interrupts

  test "a reader in a fiber lets other fibers run" do
    not_on :jruby, "JRuby has no fiber scheduler"
    beacon = open_beacon.subscribe
    order = []
    thread = Godwit::TestSupport::TinyScheduler.thread do
      Fiber.schedule { order << beacon.recv }
      Fiber.schedule { order << :other }
      Fiber.schedule do
        order << beacon.recv(timeout: 0.01, exception: false)
        shout("x")
      end
    end
    assert thread.join(20), "the fibers hang"
    assert_equal [:other, nil, [HERE, "x"]], order
  end

  test "a wake-up of a killed reader goes to another" do
    beacon = open_beacon.subscribe
    waiting = received_beacons(beacon)
    readers = readers_of(beacon)
    10.times do |round|
      killed = waiting_on(readers) { beacon.recv(timeout: 20) }
      other = in_thread { beacon.recv(timeout: 20) }
      until_waiting(readers, 2)
      shout("first #{round}")
      eventually { !waiting.empty? || !killed.alive? || !other.alive? }
      killed.kill
      killed.join
      eventually("a beacon is there and its reader sleeps") { waiting.empty? }
      shout("second #{round}")
      assert_includes other.value.last, round.to_s
      shout("end #{round}")
      nil until beacon.recv(timeout: 20).last == "end #{round}"
    end
  end

  test "a flooded beacon keeps publishing" do
    beacon = open_beacon(interval: 0.01, limit: 5).subscribe.publish("own")
    stop = false
    flood = in_thread { shout(*(["x"] * 50)) until stop }
    eventually("nothing was dropped") { beacon.dropped.positive? }
    assert_same beacon, beacon.wait_sent(beacon.sent + 20, timeout: 20)
    stop = true
    flood.join
    # For a moment the queue has six beacons: the new one is added before the oldest is dropped.
    eventually { received_beacons(beacon).size == 5 }
  end

  test "an unreferenced beacon is closed, and its thread ends" do
    not_on :jruby, "the moment of a Java collection is unpredictable"
    before = beacon_threads
    Thread.new { 5.times { Godwit::Beacon.new(port).publish("x") } }.join
    eventually("the threads of dropped Beacons live on", deadline: 20) do
      Thread.new { Array.new(1000) { Object.new } }.join
      GC.start
      (beacon_threads - before).size <= 1 # the machine stack may still reference a Beacon
    end
    assert_operator beacon_threads.size, :<=, before.size + 1
  end

  test "its thread being killed closes it, and its waits say so" do
    beacon = open_beacon
    mine = beacon_threads.last
    readers = readers_of(beacon)
    thread = waiting_on(readers) { beacon.recv }
    mine.kill.join
    assert_raises(Godwit::ClosedError) { thread.value }
    assert_predicate beacon, :closed?
    assert_nil beacon.close
  end

  test "an interrupt between a change and the wake-up leaves its thread not asleep" do
    not_on :jruby, "a TracePoint there cannot raise at a line"
    at_each_line(%r{lib/godwit/beacon/beacon_thread}, least: 5) do |interrupted|
      beacon_thread = (beacon = open_beacon).instance_variable_get(:@thread)
      again = interrupted.call { beacon.publish("x") }
      eventually { beacon.sent.positive? } if beacon_thread.instance_variable_get(:@payload)
      closing = interrupted.call { beacon.close }
      eventually { !beacon_thread.instance_variable_get(:@thread).alive? } if beacon.closed?
      again || closing
    end
  end

  test "a Ractor may have a beacon" do
    not_on :jruby, "JRuby has no Ractors"
    result = assert_child run_child(<<~RUBY, [port])
      require "godwit"
      Godwit::Beacon # loads the class, which a Ractor of Ruby 3.1 cannot
      $VERBOSE = nil # Ractors are experimental
      p Ractor
          .new(Integer(ARGV[0])) { |port|
            Godwit::Beacon.new(port, noecho: false) do |beacon|
              beacon.subscribe.publish("x").recv(timeout: 5)
            end
          }
          .take
    RUBY
    assert_equal "#{[HERE, "x"].inspect}\n", result.stdout
  end

  private

  def beacon_threads = Thread.list.select { |thread| thread.name == "godwit beacon" }
end
