# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqBeaconTest < Godwit::RbczmqCase
  # Replaces Godwit::Beacon, so that no network is needed.
  class Fake
    attr_reader :calls, :received

    def initialize
      @calls = []
      @received = Queue.new
    end

    %i[silence unsubscribe noecho=].each do |name|
      define_method(name) { |*arguments| (@calls << [name, *arguments]) && self }
    end

    # These check their argument, as Godwit::Beacon does.
    {:publish => :payload, :subscribe => :prefix, :interval= => :interval}.each do |name, check|
      define_method(name) do |value|
        @calls << [name, Godwit::Beacon::Check.public_send(check, value)]
        self
      end
    end

    def hostname = "10.0.0.7"

    def each
      while (beacon = @received.pop)
        yield beacon
      end
    end

    def close = @received.close
  end

  def beacon
    @fake = Fake.new
    ZMQ::Beacon.stub(:make, @fake) { ZMQ::Beacon.new(9999) }
  end

  def teardown
    @beacon&.destroy
    super
  end

  test "methods without a result return nil" do
    @beacon = beacon
    assert_equal "10.0.0.7", @beacon.hostname
    results = [
      @beacon.__send__(:interval=, 250), @beacon.noecho, @beacon.publish("payload"),
      @beacon.silence, @beacon.subscribe("prefix"), @beacon.subscribe(nil), @beacon.unsubscribe
    ]
    assert_equal [nil] * 7, results
    assert_equal [
      [:interval=, 0.25], [:noecho=, true], [:publish, "payload"], [:silence],
      [:subscribe, "prefix"], [:subscribe, ""], [:unsubscribe]
    ],
      @fake.calls
  end

  test "wrong types and sizes" do
    ["9999", nil, 1.5, :x].each { |wrong| assert_raise(TypeError) { ZMQ::Beacon.new(wrong) } }
    assert_raise(ArgumentError) { ZMQ::Beacon.new }
    @beacon = beacon
    {:interval= => [nil, 0.5, "1"], :publish => [nil, 1, :x], :subscribe => [1, :x]}
      .each do |method, values|
        values.each { |wrong| assert_raise(TypeError) { @beacon.__send__(method, wrong) } }
      end
    assert_misuse(/1 to 255 bytes/, -> { @beacon.publish("") }, -> { @beacon.publish("x" * 256) })
    assert_misuse(/0.001 seconds or more/, -> { @beacon.interval = 0 },
      -> { @beacon.interval = -1 })
    assert_empty @fake.calls
    assert_nil @beacon.publish("x" * 255)
  end

  test "the pipe is a bound PAIR, always the same, with its options" do
    @beacon = beacon
    pipe = @beacon.pipe
    assert_instance_of ZMQ::Socket::Pair, pipe
    assert_equal ZMQ::Socket::BOUND, pipe.state
    pipe.rcvtimeo = 20
    GC.start
    assert_same pipe, @beacon.pipe
    assert_equal 20, @beacon.pipe.rcvtimeo
    assert_match(/\Ainproc:/, @beacon.pipe.endpoints.first)
    assert_nil pipe.recv
    pipe.rcvtimeo = 5000
    @fake.received << ["10.0.0.8", "who\0is there"]
    assert_equal ["10.0.0.8", true, "who\0is there", false],
      [pipe.recv, pipe.rcvmore?, pipe.recv, pipe.rcvmore?]
    @fake.received << ["10.0.0.9", "again"]
    assert_equal ["10.0.0.9", "again"], pipe.recv_message.to_a.map(&:data)
  end

  test "destroy, more than once" do
    @beacon = beacon
    pipe = @beacon.pipe
    assert_nil @beacon.destroy
    assert_nil @beacon.destroy
    assert_misuse(/ZMQ::Beacon instance \w* has been destroyed/, -> { @beacon.hostname },
      -> { @beacon.interval = 1 }, -> { @beacon.noecho }, -> { @beacon.publish("x") },
      -> { @beacon.silence }, -> { @beacon.subscribe("") }, -> { @beacon.unsubscribe },
      -> { @beacon.pipe })
    assert_misuse(/ZMQ::Socket instance \w* has been destroyed/) { pipe.recv }
  end

  test "destroy in another thread ends a wait on the pipe" do
    @beacon = beacon
    waiting = in_thread { @beacon.pipe.recv }
    pipe = eventually { @beacon.instance_variable_get(:@pipe) }
    until_waiting(pipe.socket.godwit)
    elsewhere { @beacon.destroy }
    assert_nil waiting.value
  end
end

# In a network namespace of the test: no interface of this machine gets a broadcast.
class RbczmqBeaconOnTheWireTest < Godwit::TestCase
  HEAD = %(require "godwit/compat/rbczmq"; require "zmq"\n)
  WIRE =
    "ip link set lo up && ip link add v0 type veth peer name v1 && ip addr add 10.99.0.1/24 brd " \
    "+ dev v0 && ip link set v0 up && ip link set v1 up"

  def lines(script, network)
    unless system("unshare -n ip link >/dev/null 2>&1")
      skip "needs unshare, ip, and leave to make a network namespace"
    end
    command = [*RUBY, "-W", "-Ilib", "-r./test/support/child_prelude", "-e", HEAD + script]
    assert_child(
      start_command(
        ["unshare", "-n", "sh", "-c", "#{network} && exec \"$@\"", "sh", *command], deadline: 30
      ).finish
    ).stdout.lines.map(&:chomp)
  end

  test "publish, subscribe, noecho, silence; ports that are in use, or invalid" do
    seen = lines(<<~RUBY, WIRE)
      to_oneself = ZMQ::Beacon.new(0) # any free port
      to_oneself.subscribe("to")
      to_oneself.pipe.rcvtimeo = 10_000
      p to_oneself.publish("to oneself"), to_oneself.pipe.recv_message.to_a.map(&:data)
      to_oneself.destroy
      one = ZMQ::Beacon.new(9999)
      other = ZMQ::Beacon.new(9999)
      p one.hostname
      one.interval = 50
      other.interval = 50
      other.subscribe("who")
      other.pipe.rcvtimeo = 10_000
      one.publish("who is there")
      p other.pipe.recv, other.pipe.recv
      other.unsubscribe
      one.subscribe(nil)
      one.pipe.rcvtimeo = 10_000
      p one.pipe.recv_message.to_a.map(&:data)
      one.noecho
      other.publish("me")
      true until (received = one.pipe.recv_message.last.data) == "me"
      p received
      one.silence
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
      "nil", '["10.99.0.1", "to oneself"]', '"10.99.0.1"', '"10.99.0.1"', '"who is there"',
      '["10.99.0.1", "who is there"]', '"me"', "Errno::EADDRINUSE", "ZMQ::Error"
    ],
      seen.grep_v(/\ASys error/)
  end

  test "without an interface that broadcasts" do
    assert_equal ["\"\"", "nil", "nil"], lines(<<~RUBY, "ip link set lo up")
      beacon = ZMQ::Beacon.new(9999)
      p beacon.hostname, beacon.publish("nobody hears it"), beacon.destroy
    RUBY
  end

  test "a collected beacon ends its thread" do
    not_on :jruby, "GC.start collects nothing there"
    assert_equal ["true"], lines(<<~RUBY, WIRE)
      ZMQ::Beacon.new(9999).tap(&:pipe).destroy # the default context may start a thread
      before = Thread.list.size
      make = -> { 3.times { ZMQ::Beacon.new(9999).pipe } }
      Thread.new(&make).join
      p(await { GC.start || Thread.list.size <= before })
    RUBY
  end
end
