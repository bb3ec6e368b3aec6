# frozen_string_literal: true

require "work_helper"
require "support/broker"
require "socket"

# The tests' broker: support/broker.rb.
class WorkKafkaBrokerTest < Godwit::WorkCase
  deadline 300 # on a busy machine a broker starts slowly

  # In the place of start.sh: its broker waits until a signal ends it.
  FAKE = <<~SH
    #!/bin/sh
    mkdir -p "$1"
    echo "$KAFKA_PROPERTIES" > "$1/properties"
    echo "port $2" > "$1/broker.log"
    %s tail -f /dev/null &
    echo $! > "$1/broker.pid"
    echo started; %s
  SH
  NOT_THERE = {"GODWIT_KAFKA_START" => "/no/such.sh"}.freeze

  def child_folders = [*super, "test", "work/test"]

  # @return [Hash{String => String}] an environment in which start.sh is another one
  def fake(prefix = "", ending = "exit 0")
    path = File.join(scratch_dir, "start.sh")
    File.write(path, format(FAKE, prefix, ending))
    File.chmod(0o755, path)
    {"GODWIT_KAFKA_START" => path, "KAFKA_BROKERS" => nil}
  end

  def run_broker(source, env)
    program = "require 'minitest'; require 'support/broker'\n#{source}"
    assert_child(run_child(program, env: env, gems: true)).stdout.lines(chomp: true)
  end

  def alive?(pid)
    File.read("/proc/#{pid}/stat").rpartition(") ").last[0] != "Z"
  rescue Errno::ENOENT
    false
  end

  test "KAFKA_BROKERS names brokers, and no broker is started" do
    env = {**NOT_THERE, "KAFKA_BROKERS" => "a:1,b:2"}
    lines = run_broker("p Broker.brokers, Broker.available?, Broker.startable?", env)
    assert_equal ['"a:1,b:2"', "true", "false"], lines
  end

  test "a test without a broker is skipped, and says why" do
    source = <<~RUBY
      p Broker.available?
      [-> { Broker.brokers }, -> { Broker.start }].each do |call|
        call.call
      rescue Minitest::Skip => skip
        puts skip.message
      end
    RUBY
    none = "no Kafka broker: set KAFKA_BROKERS"
    assert_equal ["false", none, none], run_broker(source, {**NOT_THERE, "KAFKA_BROKERS" => ""})
    assert_equal ["false", none, none], run_broker(source, {**fake, "JAVA" => "no-such-java"})
    given = run_broker(source, {**NOT_THERE, "KAFKA_BROKERS" => "a:1"})
    assert_equal "no Kafka broker that a test may start: set GODWIT_KAFKA_START to start.sh's path",
      given.last
  end

  test "start.sh is found beside the checkout, or by its name" do
    assert_equal [File.expand_path("../shared/kafka/start.sh", ROOT).inspect],
      run_broker("p Broker.script", {"GODWIT_KAFKA_START" => nil})
    assert_equal [NOT_THERE.values.first.inspect], run_broker("p Broker.script", NOT_THERE)
  end

  test "the process's broker starts once, and ends with the process; so do others" do
    source = <<~RUBY
      require "minitest/autorun"
      class ATest < Minitest::Test
        def test_a
          shared = Broker.brokers
          assert_equal shared, Broker.brokers
          other = Broker.start(ports: 5, properties: ->(port) { "first=\#{port}\nlast=1" })
          refute_equal shared, other.brokers
          puts "pids \#{ObjectSpace.each_object(Broker).map(&:pid).join(" ")}"
          puts "folders \#{ObjectSpace.each_object(Broker).map(&:folder).join(" ")}"
          assert_equal "first=\#{other.port}\nlast=1\n", File.read("\#{other.folder}/properties")
          assert_equal "port \#{other.port}\n", other.log
        end
      end
    RUBY
    lines = run_broker(source, fake)
    pids, folders = %w[pids folders].map do |name|
      lines.find { |line| line.start_with?(name) }.split.drop(1)
    end
    assert_equal [2, 2], [pids.size, folders.size]
    pids.each { |pid| refute alive?(pid), pid }
    folders.each { |folder| refute_path_exists folder }
  end

  # @return [Broker] of this process and the fake start.sh
  def broker(...)
    Broker.stub(:script, fake(...).fetch("GODWIT_KAFKA_START")) do
      @broker = Broker.new(12_345, nil)
      @broker.start
    end
  end

  def teardown
    @broker&.remove
    super
  end

  test "stop, kill, freeze and thaw act on the broker's process" do
    one = broker
    pid = one.pid
    assert alive?(pid)
    one.freeze
    eventually { File.read("/proc/#{pid}/stat").rpartition(") ").last[0] == "T" }
    one.thaw
    eventually { File.read("/proc/#{pid}/stat").rpartition(") ").last[0] == "S" }
    one.freeze
    one.stub(:kill, -> { flunk "it did not end by TERM" }) { one.stop }
    refute alive?(pid)
    assert_nil one.pid
    one.stop
    one.remove
    refute_path_exists one.folder
    again = broker.pid
    @broker.kill
    refute alive?(again)
  end

  test "a broker that does not end by TERM is killed" do
    pid = broker("env --ignore-signal=TERM").pid
    eventually { File.read("/proc/#{pid}/cmdline").start_with?("tail") }
    @broker.stop(0.05)
    refute alive?(pid)
  end

  test "a start that fails shows what start.sh printed, and leaves no process" do
    error = assert_raises(RuntimeError) { broker("", "echo it broke; exit 1") }
    assert_match(/Kafka did not start: started\nit broke/, error.message)
    refute alive?(File.read("#{@broker.folder}/broker.pid").to_i)
  end

  def cluster = File.read("#{@broker.folder}/log/meta.properties")[/^cluster\.id=.*/]

  test "a real broker has the same port and data after kill -9" do
    @broker = Broker.start
    TCPSocket.new(*@broker.brokers.split(":")).close
    before = [@broker.port, cluster]
    @broker.kill
    assert_raises(Errno::ECONNREFUSED) { TCPSocket.new(*@broker.brokers.split(":")) }
    @broker.start
    TCPSocket.new(*@broker.brokers.split(":")).close
    assert_equal before, [@broker.port, cluster]
  end
end
