# frozen_string_literal: true

require "log/engines"
require "godwit/work/testing"

# Runs consumers of the topic "t" in this process: on a file, on Kafka, or in memory.
module RunningConsumers
  include Engines

  Work = Godwit::Work

  # @param hooks [Hash{Symbol => Proc}] further methods of the consumer's class
  # @return [Class] a consumer of the topic "t" whose handler is the block
  def consumer(handler = :perform, topic: "t", partitions: 2, format: :text, group: "g",
    retries: 2, backoff: 0..0, by: :partition, **hooks, &block)
    Class.new(Work::Consumer) do
      topic topic, partitions: partitions, format: format
      group group
      retries retries, backoff: backoff
      parallel by: by
      define_method(handler, &block)
      hooks.each { |name, body| define_method(name, &body) }
    end
  end

  # @return [Class] a consumer that notes the values of its records in {#seen}
  def noting(**options)
    seen = self.seen
    consumer(**options) { |message| seen << message.value }
  end

  # @return [Thread::Queue] values of the records that the consumer of {#noting} has handled
  def seen = @seen ||= Thread::Queue.new

  # @return [Array<Object>] the next values in {#seen}
  def next_seen(count) = Array.new(count) { seen.pop }

  # @return [Work::Testing] runs, in memory, a consumer whose handler is the block
  def in_memory(...) = Work::Testing.new(@klass = consumer(...))

  # @param options [Hash] options of Runner.new
  # @return [Work::Runner] a runner that runs until {#stop_all}, or the end of the test
  def run_consumers(*classes, **options)
    runner = Work::Runner.new(classes, client: client, **options)
    (@runners ||= []) << [runner, in_thread { runner.run }]
    eventually { client.topics.any? }
    runner
  end

  def stop_all
    @runners&.each { |runner, _| runner.stop }
    @runners&.each { |_, thread| ended(thread) }
    @runners = nil
  end

  def teardown
    stop_all
    super
  end

  def declare(name = "t") = client.topic(name, partitions: 2, format: :text)
  def produce(*values, key: "k") = client.produce_many("t", values.map { |value| [value, key] })
  def positions = engine.positions("g", engine.topics["t"])
  def watermarks = positions.map(&:watermark)

  # Waits until `count` records are finished and readers get their outputs, on Kafka a little later.
  def finished(count)
    eventually { watermarks.sum == count }
    KafkaLog.await_transactions if KafkaLog::ON
  end

  def dead(name = "t.dead") = client.each(name).to_a
  def values(topic) = client.each(topic).map(&:value)

  # @return [Array<Work::Events::Event>] empty; each later event of these names is appended
  def events(*names)
    [].tap { |all| client.on(*names) { |event| all << event } }
  end
end
