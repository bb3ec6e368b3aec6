# frozen_string_literal: true

require "test_helper"
require_relative "beacons"

# Tests of Godwit::Beacon in a network namespace of their own.
class BeaconTest < NetworkCase
  include Conformance::Beacons

  Stop = Class.new(StandardError)

  test "a beacon receives another's payload with the sender's address, at once and repeatedly" do
    here = open_beacon(interval: 0.02)
    there = open_beacon.subscribe
    assert_same here, here.publish("gr\u00fcn \0\xff")
    5.times do
      address, payload = there.recv(timeout: 10)
      assert_equal [HERE, "gr\u00fcn \0\xff".b, Encoding::BINARY],
        [address, payload, payload.encoding]
    end
    assert_operator here.sent, :>=, 5
    assert_equal 0, here.failed
    assert_nil here.last_error
  end

  test "the default interval is a second, on the monotonic clock, also without a receiver" do
    assert_equal 1.0, open_beacon.interval
    beacon = open_beacon(interval: 0.05)
    start = monotonic
    beacon.publish("x")
    beacon.wait_sent(21, timeout: 20)
    assert_operator monotonic - start, :>=, 0.99
    assert_equal 0, beacon.dropped
    assert open_beacon(interval: 1000).publish("at once").wait_sent(1, timeout: 10)
  end

  test "a payload is the String as it was at publish" do
    receiver = open_beacon.subscribe
    payload = +"before"
    beacon = open_beacon(interval: 0.01).publish(payload)
    beacon.wait_sent(1, timeout: 10)
    payload.replace("after")
    count = beacon.sent
    beacon.wait_sent(count + 2, timeout: 10)
    assert_equal ["before"], receiver.first(count + 1).map(&:last).uniq
  end

  test "after silence no beacon is sent" do
    receiver = open_beacon.subscribe
    beacon = open_beacon(interval: 0.001).publish("x")
    receiver.recv(timeout: 10)
    assert_same beacon, beacon.silence
    sent = beacon.sent
    shout("last")
    received = receiver.take_while { |_, payload| payload != "last" }
    assert_operator received.size, :<=, sent
    assert_nil beacon.wait_sent(sent + 1, timeout: 0.1, exception: false)
    assert_equal :wait_readable, receiver.recv_nonblock(exception: false)
  end

  test "no beacon arrives before subscribe or after unsubscribe, but received ones stay" do
    beacon = open_beacon
    dealt_with = dealt_with(beacon)
    shout("early")
    dealt_with.pop
    assert_nil beacon.recv(timeout: 0, exception: false)
    assert_same beacon, beacon.subscribe
    shout("mine")
    dealt_with.pop
    assert_same beacon, beacon.unsubscribe
    shout("late")
    dealt_with.pop
    assert_equal "mine", beacon.recv(timeout: 10).last
    assert_nil beacon.recv(timeout: 0, exception: false)
  end

  test "a prefix filters, and a new prefix replaces the old" do
    beacon = open_beacon.subscribe("a.")
    shout("b.1", "a", "a.1", "", "a.2")
    assert_equal %w[a.1 a.2], beacon.first(2).map(&:last)
    beacon.subscribe("b.".encode("UTF-16LE").force_encoding("BINARY")[0] + ".")
    shout("a.3", "b.2")
    assert_equal "b.2", beacon.recv(timeout: 10).last
  end

  test "datagrams of 1 to 255 bytes are beacons" do
    beacon = open_beacon.subscribe
    shout("", "x" * 256, "y" * 1400, "z" * 255, "!")
    assert_equal ["z" * 255, "!"], beacon.first(2).map(&:last)
    beacon.publish("p" * 255)
    beacon.wait_sent(1, timeout: 10)
  end

  test "a beacon's own broadcasts are filtered, also the last ones, unless own: is set" do
    beacon = open_beacon(interval: 0.001).subscribe
    assert_predicate beacon, :noecho?
    20.times { |number| beacon.publish("own #{number}").wait_sent(beacon.sent + 1, timeout: 10) }
    beacon.silence
    shout("foreign")
    assert_equal "foreign", beacon.recv(timeout: 10).last
    with_clock do |clock| # for 1 s after a broadcast its received copy counts as an echo
      sent = beacon.sent
      beacon.publish("own").wait_sent(sent + 1)
      beacon.silence
      shout("own", "foreign")
      assert_equal "foreign", beacon.recv(timeout: 10).last
      clock.advance(2)
      shout("own")
      assert_equal "own", beacon.recv(timeout: 10).last
    end
    beacon.noecho = false
    refute_predicate beacon, :noecho?
    beacon.publish("own")
    assert_equal [HERE, "own"], beacon.recv(timeout: 10)
    assert_equal [HERE, "own"],
      open_beacon(noecho: false).subscribe("own").publish("own").recv(timeout: 10)
  end

  test "without a reader the oldest are dropped and counted" do
    beacon = open_beacon(limit: 3).subscribe
    shout(*("a".."j"))
    eventually { beacon.dropped == 7 }
    assert_equal %w[h i j], beacon.first(3).map(&:last)
  end

  test "recv says when time is up" do
    beacon = open_beacon
    error = assert_raises(Godwit::TimeoutError) { beacon.recv(timeout: 0.01) }
    assert_equal :recv, error.operation
    assert_includes error.message, "recv udp://gw0:#{port}: Timed out (nothing was heard; subscribe"
    assert_raises(IO::WaitReadable) { beacon.recv_nonblock }
    assert_nil beacon.recv(timeout: 0, exception: false)
    assert_raises(Godwit::TimeoutError) { beacon.wait_sent(1, timeout: 0.01) }
    assert_nil beacon.wait_sent(nil, timeout: 0.01, exception: false)
    assert_raises(Godwit::ArgumentTypeError) { beacon.wait_sent("1") }
    assert_raises(Godwit::ArgumentValueError) { beacon.recv(timeout: -1) }
  end

  test "after close every call raises, and the port is free" do
    beacon = open_beacon.publish("x").subscribe
    refute_predicate beacon, :closed?
    assert_nil beacon.close
    assert_nil beacon.close
    assert_predicate beacon, :closed?
    [-> { beacon.publish("x") }, -> { beacon.silence }, -> { beacon.subscribe },
      -> { beacon.unsubscribe }, -> { beacon.recv }, -> { beacon.recv_nonblock },
      -> { beacon.wait_sent(1) }, -> { beacon.interval = 1 },
      -> { beacon.noecho = true }].each do |call|
      assert_includes assert_raises(Godwit::ClosedError, &call).message, "Beacon.new makes another"
    end
    assert_same beacon, beacon.each { flunk }
    assert_includes beacon.inspect, "(closed)"
    UDPSocket.open { |socket| socket.bind("0.0.0.0", port) }
    UDPSocket.open { |socket| socket.bind(HERE, port) }
  end

  test "the block form closes" do
    kept = nil
    assert_equal(7, Godwit::Beacon.new(port) { |beacon| (kept = beacon) && 7 })
    assert_predicate kept, :closed?
    assert_raises(Stop) { Godwit::Beacon.new(port) { |beacon| (kept = beacon) && raise(Stop) } }
    assert_predicate kept, :closed?
  end

  test "an invalid argument is named" do
    value, type = Godwit::ArgumentValueError, Godwit::ArgumentTypeError
    beacon = open_beacon
    make = ->(name) { ->(bad) { open_beacon(name => bad) } }
    [
      [->(bad) { Godwit::Beacon.new(bad) }, {value => [-1, 0, 65_536], type => ["9999", nil, 1.5]}],
      [make.call(:interval),
        {value => [0, -1, 0.0001, Float::NAN, Float::INFINITY], type => [nil, "1", 1i]}],
      [make.call(:limit), {value => [0, -1, nil, 1.5]}],
      [make.call(:interface), {type => ["", :gw0, 1]}],
      [beacon.method(:publish), {value => ["", "x" * 256], type => [nil, :x, 1, ["x"]]}],
      [beacon.method(:subscribe), {value => ["x" * 256], type => [nil, :x, 1]}],
      [->(bad) { beacon.interval = bad }, {value => [0]}]
    ].each do |call, refused|
      refused.each do |klass, values|
        values.each { |bad| assert_raises(klass, bad.inspect) { call.call(bad) } }
      end
    end
    assert_raises(Godwit::UnsupportedError) { beacon.dup }
    assert_raises(Godwit::StateError) { beacon.send(:initialize, port) }
  end

  test "other machines and this one receive each other's beacons" do
    theirs = <<~RUBY
      require "godwit"
      $stdout.sync = true
      beacon = Godwit::Beacon.new(#{port}, interval: 0.05).publish("there").subscribe("here")
      puts beacon.hostname, "heard: \#{beacon.recv(timeout: 20).inspect}"
      $stdin.read
    RUBY
    ours = open_beacon(interval: 0.05).subscribe("there")
    child = there(*Godwit::TestSupport::Children::RUBY, "-W", "-Ilib", "-e", theirs, deadline: 60)
    assert_equal [Network::THERE, "there"], ours.recv(timeout: 50)
    ours.publish("here")
    child.wait_for(/heard: .*\n/)
    result = assert_child(child.finish)
    assert_equal "#{Network::THERE}\nheard: #{[HERE, "here"].inspect}\n", result.stdout
    assert_empty result.stderr
  end
end
