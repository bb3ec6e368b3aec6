# frozen_string_literal: true

require "support/kafka_failures"
require "support/kafka_administration"
require "support/kafka_faults"

# A method of the Kafka engine fails once. The consumers in this process still run each record.
class WorkKafkaFaultsTest < Godwit::KafkaFailureCase
  include KafkaAdministration

  NOT_COORDINATOR = 16
  ILLEGAL_GENERATION = 22
  REBALANCE_IN_PROGRESS = 27
  Run = Struct.new(:runner, :partition, :offset, :value)

  def setup
    super
    @ran = Thread::Queue.new
    @runners = []
  end

  def teardown
    KafkaFaults.clear
    @runners.each { |runner, thread| runner.stop && ended(thread) }
    super
  end

  # @return [Class] a consumer that appends each run to @ran, and then runs the block
  def consumer(number, &block)
    block ||= proc {}
    topic, group, ran = from, self.group, @ran
    Class.new(Work::Consumer) do
      topic topic
      group group
      parallel by: :key
      retries 3, backoff: 60..60

      define_method(:perform) do |message|
        ran << Run.new(number, message.partition, message.offset, message.value[:id])
        instance_exec(message, &block)
      end
    end
  end

  # Starts a runner. Each runner has its own connection, like a runner in a process of its own.
  def start(number = 0, client = own(Work::Client.new(engine)), &block)
    runner = Work::Runner.new([consumer(number, &block)], client: client, workers: 2)
    thread = in_thread { runner.run }
    (@runners << [runner, thread]).last
  end

  def stop(runner, thread)
    @runners.delete([runner, thread])
    runner.stop
    ended(thread)
  end

  def write(ids, client = self.client)
    client.produce_many(from, ids.map { |id| [{id: id}, "k#{id}"] })
  end

  # Waits until a handler has run for each of these records.
  # @return [Array<Run>] all runs since the start of the test
  def all_run(ids)
    seen = (@seen ||= [])
    eventually(deadline: 60) do
      seen << @ran.pop until @ran.empty?
      (ids.to_a - seen.map(&:value)).empty?
    end
    seen
  end

  {
    "the answer with the positions" => [:Arrivals, :committed],
    "the count of a dead owner's crash" => [:Arrivals, :crashed],
    "the assignment" => [:Membership, :begin_reading],
    "the commit of the mark" => [:Membership, :commit_marks],
    "the first fetch" => [:Claim, :drain]
  }.each do |what, (klass, name)|
    test "a partition is claimed although a call fails: #{what}" do
      leave_marks if name == :crashed
      failed = KafkaFaults.once(KafkaFaults::KAFKA.const_get(klass), name, NOT_COORDINATOR) do |one|
        name != :commit_marks || one.instance_variable_get(:@unmarked).any?
      end
      write(0...20)
      start
      failed.pop
      all_run(0...20)
      eventually(deadline: 60) { lag.zero? }
      assert_equal 20, @seen.count { |run| run.value < 20 }
    end
  end

  # Writes records, and commits positions whose owner "abc" no longer exists, as after kill -9.
  def leave_marks
    write(100...110)
    entries = Array.new(PARTITIONS) do |number|
      text = KafkaFaults::KAFKA::CommitText.new(owner: "abc", crashes: 0).dump
      KafkaFaults::KAFKA::PartitionList::Entry.new(from, number, 0, text)
    end
    client.engine.groups.set(group, entries)
  end

  test "a commit that the group refuses during a rebalance is sent again" do
    write(0...20)
    events = []
    client.on(:lost, :error) { |event| events << event }
    [ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS].each do |code|
      start(0, client) if @runners.empty?
      all_run(0...20)
      refused = refuse_once(code)
      write(20 + code...30 + code)
      refused.pop
      all_run(20 + code...30 + code)
    end
    eventually(deadline: 60) { lag.zero? }
    assert_empty events
  end

  # @return [Thread::Queue] gets an object when the next commit has been refused with this code
  def refuse_once(code)
    commits = KafkaFaults::KAFKA::Commits
    Thread::Queue.new.tap do |queue|
      KafkaFaults.before(commits, :send_once) do
        KafkaFaults::ARMED.clear
        queue << true
        error = KafkaFaults::KAFKA::Errors.of(code, :commit)
        raise commits.const_get(:Refused).new(error)
      end
    end
  end

  test "the topic of facts is deleted: topics, groups and pauses work" do
    client.topic("#{from}.a")
    delete_topic("_godwit.state")
    client.topic("#{from}.b", format: :text)
    other = own(Work::Client.new(engine))
    assert_equal "text", other.engine.topics.fetch("#{from}.b").format
    client.topic(from) # the deleted topic _godwit.state had stored the format of `from`
    write(0...10)
    start
    all_run(0...10)
    eventually(deadline: 60) { lag.zero? }
    client.pause(group, from)
    assert other.groups.find { |one| one.group == group }.paused
  end

  # @return [Array<Integer>] how many descriptors and how many threads this process has
  def leftovers
    GC.start
    [Dir.children("/proc/self/fd").size, Dir.children("/proc/self/task").size]
  end

  test "runners leave no descriptor, thread or handle" do
    round = lambda do |_|
      connection = Work::Client.new(engine)
      output = to
      runner = start(0, connection) { produce(output, {id: 1}) }
      write(0...5)
      eventually(deadline: 60) { @ran.size >= 5 }
      stop(*runner)
      connection.close
      @ran.clear
    end
    2.times(&round)
    before = leftovers
    3.times(&round)
    eventually("no more than #{before}", deadline: 30) do
      leftovers.zip(before).all? { |now, most| now <= most }
    end
  end
end
