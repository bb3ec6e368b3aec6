# frozen_string_literal: true

require "work_helper"

# Consumers of the topic "t" that run in this process, on a file or on Kafka.
module RunningConsumers
  Work = Godwit::Work

  def path = File.join(scratch_dir, "work.db")

  # @return [Godwit::Work::Client]
  def client = @client ||= own(Work::Client.new(shared_engine))

  # @return [Class] a consumer of the topic "t" whose handler is the block
  def consumer(handler = :perform, topic: "t", partitions: 2, &block)
    Class.new(Work::Consumer) do
      topic topic, partitions: partitions, format: :text
      group "g"
      retries 2, backoff: 0..0
      define_method(handler, &block)
    end
  end

  def run_consumers(*classes, **options)
    runner = Work::Runner.new(classes, client: client, **options)
    (@runners ||= []) << runner
    @threads = [*@threads, in_thread { runner.run }]
    eventually { client.topics.any? }
    runner
  end

  def stop_all
    @runners&.each(&:stop)
    @threads&.each { |thread| ended(thread) }
    @runners = @threads = nil
  end

  def teardown
    stop_all
    super
  end

  def declare(name = "t") = client.topic(name, partitions: 2, format: :text)
  def produce(*values, key: "k") = client.produce_many("t", values.map { |value| [value, key] })
  def watermarks = client.engine.positions("g", client.engine.topics["t"]).map(&:watermark)

  # Outputs are there as well: Kafka answers before the end of a transaction is in all partitions.
  def finished(count)
    eventually { watermarks.sum == count }
    KafkaLog.await_transactions if KafkaLog::ON
  end

  def dead(name = "t.dead") = client.each(name).to_a
  def values(topic) = client.each(topic).map(&:value)

  # @return [Array<Godwit::Work::Events::Event>] it fills up
  def events(*names)
    [].tap { |all| client.on(*names) { |event| all << event } }
  end
end
