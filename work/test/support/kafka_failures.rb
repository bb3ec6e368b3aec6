# frozen_string_literal: true

require "work_helper"
require "support/broker"
require "support/librdkafka"
require "support/kafka_accounts"

module Godwit
  # Consumers and producers in processes of their own, on a broker that the tests may stop. Each
  # record of the topic `from` becomes an output in the topic `to`. At the end `balance` compares
  # the acknowledged records, the runs of handlers, and the outputs.
  class KafkaFailureCase < WorkCase
    deadline 400
    Work = Godwit::Work
    # True in bin/test --full: the broker is down for a minute, and kills go on for two minutes.
    LONG = TestSupport::Length.long?
    PARTITIONS = 4
    SESSION = 6_000 # ms of a session: on a busy machine a process may get no processor for seconds
    PROPERTIES = {"session.timeout.ms" => SESSION}.freeze
    BROKER = <<~PROPERTIES
      broker.session.timeout.ms=6000
      log.retention.check.interval.ms=500
      log.initial.task.delay.ms=0
      log.segment.delete.delay.ms=0
      transaction.abort.timed.out.transaction.cleanup.interval.ms=500
    PROPERTIES
    HOOKS = File.expand_path("kafka_steps.rb", __dir__)
    # Runs a consumer until TERM. The consumer writes a line for each run to the file `notes`, and a
    # line for each event to the file `events`.
    CONSUMES = <<~RUBY
      require "godwit/work"
      require "json"
      SETTINGS = JSON.parse(ARGV[0])
      NOTES, EVENTS = SETTINGS.values_at("notes", "events").map { |path| File.open(path, "a") }
      FROM, TO = SETTINGS.values_at("from", "to")
      def event(name, values)
        EVENTS.syswrite(JSON.generate([Process.pid, name, values.transform_values(&:to_s)]) + "\\n")
      end
      Godwit::Work.connect(SETTINGS["url"], timeout: 60, instance: SETTINGS["instance"],
        kafka: SETTINGS["kafka"])
      Godwit::Work.on(:error, :lost, :skipped, :dead, :stuck) { |one| event(one.name, one.values) }
      require SETTINGS["hook"] if SETTINGS["hook"]
      class Copies < Godwit::Work::Consumer
        topic FROM
        group SETTINGS["group"]
        parallel by: :key

        def perform(message)
          id = message.value[:id]
          words = [Process.pid, message.key, message.partition, message.offset, id]
          NOTES.syswrite("\#{words.join(" ")}\\n")
          sleep SETTINGS["pause"] if SETTINGS["pause"]
          produce(TO, {id: id, at: [message.partition, message.offset]}, key: message.key)
        end

        def assigned(numbers) = event(:assigned, numbers: numbers)
        def revoked(numbers) = event(:revoked, numbers: numbers)
        def lost(numbers) = event(:lost_hook, numbers: numbers)
      end
      runner = Godwit::Work::Runner.new([Copies], workers: 3)
      #{Godwit::WorkCase::RUN}
      event(:ended, {})
    RUBY
    # Writes records until TERM, and notes the ids of acknowledged records in a file.
    PRODUCES = <<~RUBY
      require "godwit/work"
      require "json"
      SETTINGS = JSON.parse(ARGV[0])
      ACKNOWLEDGED, EVENTS =
        SETTINGS.values_at("acknowledged", "events").map { |path| File.open(path, "a") }
      Godwit::Work.connect(SETTINGS["url"], timeout: SETTINGS["timeout"])
      ENDED = [false]
      Signal.trap(:TERM) { ENDED[0] = true }
      IDS = Thread::Queue.new
      Thread.new { (0..).each { |id| sleep 0.01 while IDS.size > 100; IDS << id } }
      puts "ready"
      $stdout.flush
      threads = [1, 10].map do |count|
        Thread.new do
          until ENDED[0]
            ids = Array.new(count) { IDS.pop }
            records = ids.map { |id| [{id: id}, "k\#{id % 40}"] }
            begin
              if count == 1
                Godwit::Work.produce(SETTINGS["from"], records[0][0], key: records[0][1])
              else
                Godwit::Work.produce_many(SETTINGS["from"], records)
              end
              ACKNOWLEDGED.syswrite(ids.map { |id| "\#{id}\\n" }.join)
            rescue Godwit::Work::Error => error
              EVENTS.syswrite(JSON.generate([Process.pid, :produce, {error: error.to_s}]) + "\\n")
            end
            sleep count * 0.01
          end
        end
      end
      threads.each(&:join)
    RUBY
    # Makes the broker log each transaction whose end it does not write: see KafkaAccounts.
    JAVA = "#{Broker::QUICK_START} -Dorg.slf4j.simpleLogger.log.kafka.coordinator.transaction." \
      "TransactionMarkerChannelManager=info"
    # The broker of all tests of this stage, which a test may stop.
    def self.broker = @@broker ||= Broker.start(properties: BROKER, java: JAVA)

    include KafkaAccounts

    def child_folders = [*super, *Gem.loaded_specs.fetch("ffi").full_require_paths]
    def broker = KafkaFailureCase.broker
    def url = "kafka://#{broker.brokers}"
    def from = "#{topic_name}.in"
    def to = "#{topic_name}.out"
    def group = "#{topic_name}.group"
    def file(name) = File.join(scratch_dir, name)

    def client
      @client ||= Work::Client.new(engine).tap { |one| own(one) }
    end

    def engine
      Work.const_get(:KafkaEngine).new(Work.const_get(:Kafka)::Settings.new(url, timeout: 60))
    end

    def setup
      super
      broker
      @consumers, @producers = [], []
      %w[notes events acknowledged].each { |name| File.write(file(name), "") }
      client.topic(from, partitions: PARTITIONS)
      client.topic(to, partitions: 1)
    end

    # The prefix of the names of this test's topics and group.
    def topic_name = @topic_name ||= "t#{Process.pid}-#{object_id}"

    def settings(**more)
      {url: url, from: from, to: to, group: group, notes: file("notes"), events: file("events"),
       acknowledged: file("acknowledged"), kafka: PROPERTIES, timeout: 20, **more}
    end

    # @return [Child] a consumer in a new process, until the end of the test
    def consume(kafka: {}, **more)
      settings = settings(kafka: {**PROPERTIES, **kafka}, **more)
      child = start_child(CONSUMES, [JSON.generate(settings)], deadline: 380)
      (@consumers << child).last
    end

    # Starts consumers, and waits until all have joined the group.
    def consume_by(count, **more)
      Array.new(count) { consume(**more) }.each { |child| child.wait_for(/^ready$/) }
    end

    def produce(**more)
      child = start_child(PRODUCES, [JSON.generate(settings(**more))], deadline: 380)
      (@producers << child).last.wait_for(/^ready$/)
    end

    def kill(child)
      child.signal(:KILL).finish
      @consumers.delete(child)
    end

    # Ends the producers, which first write their last records.
    def stop_producing
      @producers.each { |child| assert_child child.signal(:TERM).finish }.clear
    end

    def stop_consuming
      @consumers.each { |child| child.signal(:TERM) }
      @consumers.each { |child| assert_child child.finish }.clear
    end

    # Waits for this number of further runs of handlers.
    def handled(more)
      before = runs.size
      eventually("#{more} more runs", deadline: 90) { runs.size >= before + more }
    end

    def end_child(child)
      child.signal(:KILL)
    rescue Errno::ESRCH
      nil # the child has ended
    ensure
      child.finish
    end

    def teardown
      describe_state unless passed? || skipped?
      [*@consumers, *@producers].each { |child| end_child(child) }
      restore if @consumers
      super
    end

    # Lets a stopped broker continue, or restarts a killed one.
    def restore
      broker.thaw
      broker.start unless broker.pid
    end
  end
end
