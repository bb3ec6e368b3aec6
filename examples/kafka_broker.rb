# frozen_string_literal: true

require "fileutils"
require "socket"
require "tmpdir"

# A Kafka broker for bin/demo: the one of KAFKA_BROKERS, or one of its own, which it can kill. The
# script that GODWIT_KAFKA_START names starts it, else ../shared/kafka/start.sh beside the checkout.
class KafkaBroker
  ROOT = File.expand_path("..", __dir__)
  MISSING = "no Kafka broker: KAFKA_BROKERS=host:9092 bin/demo runs this scene on yours"
  WAIT = 30 # seconds for the end of its process
  # It looks often for transactions whose time is over.
  PROPERTIES = "transaction.abort.timed.out.transaction.cleanup.interval.ms=500"

  class << self
    # @return [String] of brokers that others started, or ""
    def given = ENV["KAFKA_BROKERS"].to_s

    # @return [Boolean] whether this process can start one
    def startable? = File.executable?(script) && system("java", "-version", err: File::NULL)

    def script = ENV["GODWIT_KAFKA_START"] || File.expand_path("../shared/kafka/start.sh", ROOT)

    # @yieldparam broker [KafkaBroker] it ends with the block, and leaves no files
    def open
      broker = new
      broker.start
      yield broker
    ensure
      broker&.remove
    end
  end

  def initialize
    @folder = Dir.mktmpdir("godwit-demo-kafka")
    # Its controller has the next port.
    @port = rand(20_000..30_000) until @port && free?(@port) && free?(@port + 1)
  end

  # @return [String]
  def brokers = "127.0.0.1:#{@port}"

  # Starts it, or again: it has the same port and data.
  def start
    log = File.join(@folder, "start.log")
    started = system({"KAFKA_PROPERTIES" => PROPERTIES}, KafkaBroker.script, @folder, @port.to_s,
      %i[out err] => log)
    raise "Kafka did not start: #{File.read(log)}" unless started
  end

  # As `kill -9`.
  def kill
    return unless (pid = self.pid)
    Process.kill(:KILL, pid)
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + WAIT
    Thread.pass while lives?(pid) && Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
  rescue Errno::ESRCH
    nil # it has ended
  end

  def remove
    kill
    FileUtils.rm_rf(@folder)
  end

  private

  def pid
    Integer(File.read(File.join(@folder, "broker.pid")), exception: false)
  rescue Errno::ENOENT
    nil
  end

  def free?(port)
    TCPServer.open("127.0.0.1", port).close.nil?
  rescue Errno::EADDRINUSE
    false
  end

  # No process may wait for it, so it may stay a zombie.
  def lives?(pid)
    File.read("/proc/#{pid}/stat").rpartition(") ").last[0] != "Z"
  rescue Errno::ENOENT, Errno::ESRCH
    false
  end
end
