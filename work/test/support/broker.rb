# frozen_string_literal: true

require "fileutils"
require "io/wait"
require "tmpdir"
require_relative "../../../test/support/ports"

# A Kafka broker for tests, benchmarks and bin/demo: KAFKA_BROKERS names running brokers; otherwise
# this process starts and stops a broker. If it cannot, a test that needs a broker is skipped.
class Broker
  Missing = defined?(Minitest) ? Minitest::Skip : Class.new(StandardError)
  ROOT = File.expand_path("../../..", __dir__)
  NONE = "no Kafka broker: set KAFKA_BROKERS"
  NOT_OWN = "no Kafka broker that a test may start: set GODWIT_KAFKA_START to start.sh's path"
  START = 60 # seconds in which a broker must end after KILL
  STOP = 15 # seconds between TERM and KILL
  QUICK_START = "-XX:TieredStopAtLevel=1" # Java starts in two thirds of the time
  # With the group protocol of KIP-848 the brokers decide these times (ms), and not the consumers.
  SESSIONS = {
    "min.session.timeout" => 1_000, "session.timeout" => 2_000,
    "min.heartbeat.interval" => 200, "heartbeat.interval" => 500
  }.map { |name, time| "group.consumer.#{name}.ms=#{time}" }.join("\n").freeze
  HOLD = 9 # descriptor of a pipe that the broker inherits: at the broker's end a reader gets EOF

  class << self
    # @return [String] "HOST:PORT,…"
    # @raise [Missing] when there is no broker
    def brokers = given || shared.brokers

    # @return [Broker] the broker of {.brokers}
    # @raise [Missing] when another process started the broker
    def own
      raise Missing, "another process started the broker" if given
      shared
    end

    # @return [Boolean] whether {.brokers} has brokers, or can start one
    def available? = !given.nil? || startable?

    # @return [Boolean] whether start.sh and Java are there, as {.start} needs
    def startable? = File.executable?(script) && !java.nil?

    # @return [String, nil] "HOST:PORT,…" of the brokers that KAFKA_BROKERS names
    def given = ENV["KAFKA_BROKERS"].to_s.then { |text| text unless text.empty? }

    # @yieldparam broker [Broker] a new broker, which ends when the block ends
    # @return [Object] the block's value
    def open(...)
      broker = start(...)
      yield broker
    ensure
      broker&.remove
    end

    # Starts one more broker, which ends at the end of the process at the latest.
    # @param ports [Integer] how many free, consecutive ports the broker needs: one for its clients,
    #   one for the controller, and one for each further listener
    # @param properties [String, #call, nil] lines of server.properties. An object with `call` gets
    #   the first port and returns the lines.
    # @param java [String, nil] options of Java
    # @return [Broker]
    # @raise [Missing] when there is no start.sh, or no Java
    def start(ports: 2, properties: nil, java: QUICK_START)
      raise Missing, (available? ? NOT_OWN : NONE) unless startable?
      port = Godwit::TestSupport::Ports.free(ports)
      properties = properties.call(port) if properties.respond_to?(:call)
      new(port, properties, java).tap { |broker| at_the_end(broker) }.start
    end

    # @return [String] the path of start.sh
    def script = ENV["GODWIT_KAFKA_START"] || File.expand_path("../shared/kafka/start.sh", ROOT)

    private

    def shared
      raise Missing, NONE unless available?
      @shared ||= start(properties: SESSIONS)
    end

    def java
      name = ENV.fetch("JAVA", "java")
      return name if name.include?("/") && File.executable?(name)
      ENV["PATH"].to_s.split(":").map { |folder| File.join(folder, name) }
        .find { |path| File.executable?(path) }
    end

    def at_the_end(broker)
      pid = Process.pid
      at_exit { broker.remove if Process.pid == pid }
    end
  end

  attr_reader :port, :pid, :folder

  # @param port [Integer] of the clients' listener
  # @param properties [String, nil] lines of server.properties
  # @param java [String, nil] options of Java
  def initialize(port, properties, java = QUICK_START)
    @port = port
    @properties = properties.to_s
    @java = java
    @folder = Dir.mktmpdir("godwit-kafka")
  end

  # @return [String] "HOST:PORT"
  def brokers = "127.0.0.1:#{port}"

  # @return [String] the text of the broker's log file
  def log = File.read(File.join(folder, "broker.log"))

  # Starts the broker. A later start uses the same port and data.
  # @return [Broker] self
  def start
    reader, writer = IO.pipe
    output = File.join(folder, "start.log")
    env = {"KAFKA_PROPERTIES" => @properties, "JDK_JAVA_OPTIONS" => @java}
    script = Process.spawn(env, Broker.script, folder, port.to_s,
      HOLD => writer, :in => File::NULL, %i[out err] => output)
    writer.close
    @held&.close
    @held = reader
    _, status = Process.wait2(script)
    @pid = Integer(File.read(File.join(folder, "broker.pid")), exception: false)
    return self if status.success?
    kill if @pid
    raise "Kafka did not start: #{File.read(output)}"
  end

  # Ends the broker by TERM. If the broker still runs after `patience` seconds, KILL ends it.
  # @param patience [Numeric] seconds
  def stop(patience = STOP)
    return unless @pid
    thaw
    signal(:TERM)
    kill unless ended?(patience)
    @pid = nil
  end

  # Ends the broker as `kill -9` does.
  def kill
    signal(:KILL)
    raise "the broker #{@pid} does not end" unless ended?(START)
    @pid = nil
  end

  # Stops the broker's process until {#thaw}: connections stay open, but the broker does not answer.
  def freeze
    signal(:STOP)
    Thread.pass until stopped?
  end

  def thaw = signal(:CONT)

  # Ends the broker, and removes its data.
  def remove
    stop
    @held&.close
    @held = nil
    FileUtils.rm_rf(folder)
  end

  private

  # Checks each thread of the process, since the STOP signal reaches each one separately.
  def stopped?
    Dir["/proc/#{@pid}/task/*/stat"].all? { |path| state(path) == "T" }
  rescue Errno::ENOENT, Errno::ESRCH
    false # a thread has ended
  end

  def state(path) = File.read(path).rpartition(") ").last[0]

  def signal(name)
    Process.kill(name, @pid) if @pid
  rescue Errno::ESRCH
    nil # the broker has ended
  end

  # Waits until the broker has ended. It may stay a zombie: no process calls `wait` for it.
  def ended?(seconds)
    return false unless @held.wait_readable(seconds)
    Thread.pass while state("/proc/#{@pid}/stat") != "Z"
    true
  rescue Errno::ENOENT, Errno::ESRCH
    true
  end
end
