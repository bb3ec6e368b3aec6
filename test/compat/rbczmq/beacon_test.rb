# frozen_string_literal: true

require_relative "rbczmq_case"
require "support/network"

# No beacon here publishes, so no interface of this machine gets a broadcast.
class RbczmqBeaconTest < Godwit::RbczmqCase
  def setup
    super
    @beacon = ZMQ::Beacon.new(0) # any free port
  end

  def teardown
    @beacon.destroy
    super
  end

  test "wrong types and sizes" do
    ["9999", nil, 1.5, :x].each { |wrong| assert_raise(TypeError) { ZMQ::Beacon.new(wrong) } }
    assert_raise(ArgumentError) { ZMQ::Beacon.new }
    {:interval= => [nil, 0.5, "1"], :publish => [nil, 1, :x], :subscribe => [1, :x]}
      .each do |method, values|
        values.each { |wrong| assert_raise(TypeError) { @beacon.__send__(method, wrong) } }
      end
    assert_misuse(/1 to 255 bytes/, -> { @beacon.publish("") }, -> { @beacon.publish("x" * 256) })
    assert_misuse(/0.001 seconds or more/, -> { @beacon.interval = 0 },
      -> { @beacon.interval = -1 })
  end

  test "the pipe is a bound PAIR, always the same, with its options" do
    pipe = @beacon.pipe
    assert_instance_of ZMQ::Socket::Pair, pipe
    assert_equal ZMQ::Socket::BOUND, pipe.state
    pipe.rcvtimeo = 20
    GC.start
    assert_same pipe, @beacon.pipe
    assert_equal 20, @beacon.pipe.rcvtimeo
    assert_match(/\Ainproc:/, @beacon.pipe.endpoints.first)
    assert_nil pipe.recv
  end

  test "destroy, more than once" do
    pipe = @beacon.pipe
    assert_nil @beacon.destroy
    assert_nil @beacon.destroy
    assert_misuse(/ZMQ::Beacon instance \w* has been destroyed/, -> { @beacon.hostname },
      -> { @beacon.interval = 1 }, -> { @beacon.noecho }, -> { @beacon.publish("x") },
      -> { @beacon.silence }, -> { @beacon.subscribe("") }, -> { @beacon.unsubscribe },
      -> { @beacon.pipe })
    assert_misuse(/ZMQ::Socket instance \w* has been destroyed/) { pipe.recv }
  end
end

# Beacons that publish, in a network namespace: no interface of this machine gets a broadcast.
class RbczmqBeaconOnTheWireTest < Godwit::TestCase
  HERE = Godwit::TestSupport::Network::HERE

  def lines(script)
    skip Godwit::TestSupport::Network.missing if Godwit::TestSupport::Network.missing
    script = "require 'godwit/compat/rbczmq'; require 'zmq'\n#{script}"
    assert_child(run_child(script, network: true, deadline: 30)).stdout.lines.map(&:chomp)
  end

  test "publish, subscribe, noecho, silence; ports that are in use, or invalid" do
    seen = lines(<<~RUBY)
      to_oneself = ZMQ::Beacon.new(0) # any free port
      to_oneself.subscribe("to")
      to_oneself.pipe.rcvtimeo = 10_000
      p to_oneself.publish("to\\0" + "x" * 252)
      p to_oneself.pipe.recv, to_oneself.pipe.rcvmore?, to_oneself.pipe.recv.size
      to_oneself.destroy
      one = ZMQ::Beacon.new(9999)
      other = ZMQ::Beacon.new(9999)
      p one.hostname
      p one.__send__(:interval=, 50)
      other.interval = 50
      other.subscribe("who")
      other.pipe.rcvtimeo = 10_000
      one.publish("who is there")
      p other.pipe.recv, other.pipe.recv
      p other.unsubscribe, one.subscribe(nil)
      one.pipe.rcvtimeo = 10_000
      p one.pipe.recv_message.to_a.map(&:data)
      p one.noecho
      other.publish("me")
      true until one.pipe.recv_message.last.data == "me"
      p Array.new(5) { one.pipe.recv_message.last.data }.uniq
      other.pipe.rcvtimeo = 300
      true while other.pipe.recv
      p one.silence
      other.silence
      one.pipe.rcvtimeo = 300
      true while one.pipe.recv
      one.destroy
      taken = UDPSocket.new
      taken.bind("0.0.0.0", 9998)
      [9998, 70_000].each do |port|
        ZMQ::Beacon.new(port)
      rescue ZMQ::Error, SystemCallError => error
        p error.class
      end
    RUBY
    assert_equal [
      "nil", HERE.inspect, "true", "255", HERE.inspect, "nil", HERE.inspect, '"who is there"',
      "nil", "nil", [HERE, "who is there"].inspect, "nil", '["me"]', "nil", "Errno::EADDRINUSE",
      "ZMQ::Error"
    ], seen.grep_v(/\ASys error/)
  end

  test "without an interface that broadcasts" do
    assert_equal ["\"\"", "nil", "nil"], lines(<<~RUBY)
      system("ip link delete gw0", exception: true)
      beacon = ZMQ::Beacon.new(9999)
      p beacon.hostname, beacon.publish("nobody hears it"), beacon.destroy
    RUBY
  end

  test "a collected beacon ends its thread" do
    not_on :jruby, "GC.start collects nothing there"
    assert_equal ["true"], lines(<<~RUBY)
      ZMQ::Beacon.new(9999).tap(&:pipe).destroy # the default context may start a thread
      before = Thread.list.size
      make = -> { 3.times { ZMQ::Beacon.new(9999).pipe } }
      Thread.new(&make).join
      p(await { GC.start || Thread.list.size <= before })
    RUBY
  end
end
