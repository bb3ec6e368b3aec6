# frozen_string_literal: true

require "support/running_consumers"
require "timeout"

# Records that fail: retries and dead letters.
class WorkFailuresTest < Godwit::WorkCase
  include RunningConsumers

  # @return [Class] a consumer that adds value and attempt to {#seen}; it fails if the block is true
  def failing(**options, &fails)
    seen = self.seen
    fails ||= ->(_) { true }
    consumer(**options) do |message|
      seen << [message.value, message.attempt]
      raise "no" if fails.call(message)
    end
  end

  test "a record that fails runs again, before the records behind it; then it is a dead letter" do
    declare
    failed, buried = events(:failed), events(:dead)
    produce("good", "bad", "later")
    run_consumers(failing { |message| message.value == "bad" })
    assert_equal [["good", 1], ["bad", 1], ["bad", 2], ["bad", 3], ["later", 1]], next_seen(5)
    finished(3)
    letter = dead.first
    headers = letter.headers.to_h
    assert_equal ["bad", "k", "RuntimeError: no", "3", "g", "t", "1"], [letter.value, letter.key,
      *headers.values_at(*%w[error attempts group topic offset].map { |name| "godwit-#{name}" })]
    assert_match(/failures_test\.rb/, headers["godwit-backtrace"])
    assert_equal [1, 2, 3], failed.map { |event| event[:attempts] }
    assert_equal [["t.dead", "bad"]], buried.map { |event| [event[:topic], event[:message].value] }
  end

  # @return [Work::Testing] an application whose consumer has handled all these values
  def drained(klass, *values)
    Work::Testing.new(klass).tap do |work|
      values.each { |value| work.produce("t", value, key: "k") }
      work.drain
      assert_equal values.size, work.committed(klass)
    end
  end

  test "dead_letter: another topic, or none" do
    {"graves" => %w[graves t], false => %w[t]}.each do |name, topics|
      klass = failing
      klass.dead_letter name
      work = drained(klass, "a")
      assert_equal topics, work.client.topics.map(&:name)
      assert_equal [:dead, name || nil], [work.events.last.name, work.events.last[:topic]]
      assert_equal ["a"], work.values(name) if name
    end
  end

  test "a value that does not decode is a dead letter at once" do
    engine.append([[declare, 0, block("\xff"), 1]])
    attempts = []
    run_consumers(consumer { |message| attempts << message.attempt << message.value })
    finished(1)
    assert_equal [[1], "\xff".b], [attempts, dead.first.raw]
  end

  test "an error whose message raises" do
    broken = Class.new(StandardError) { def message = raise("none") }
    work = drained(failing(retries: 1) { raise broken }, "a")
    assert_equal [["a", 1], ["a", 2]], next_seen(seen.size)
    error = work.client.each("t.dead").first.headers.to_h["godwit-error"]
    assert_match(/: its message raised RuntimeError\z/, error)
  end

  test "a constructor that raises fails the record" do
    made = 0
    klass = failing { false }
    klass.define_method(:initialize) { raise "no" if (made += 1) == 1 }
    drained(klass, "a")
    assert_equal [["a", 2]], next_seen(seen.size)
  end

  test "by key, a record that fails blocks its key alone" do
    declare
    waits = Thread::Queue.new
    klass = failing(by: :key, retries: 1, backoff: 1_000..1_000) do |message|
      waits.pop if message.value == "wait"
      message.value == "a1" && message.attempt == 1
    end
    client.produce_many("t", [%w[a1 a], %w[wait w], %w[a2 a], %w[b1 b], %w[b2 b], %w[w2 w]])
    run_consumers(klass, workers: 2)
    assert_equal %w[a1 b1 b2 wait], next_seen(4).map(&:first).sort
    eventually { positions.any?(&:state) }
    waits << true
    assert_equal "w2", seen.pop.first
    stop_all
    assert_empty seen, "a2 waits for a1"
    klass.retries(1, backoff: 0..0)
    run_consumers(klass)
    finished(6)
    assert_equal [["a1", 2], ["a2", 1]], next_seen(2)
    assert_empty seen
  end

  test "a full progress lets the failed records run again" do
    declare
    broken = true
    seen = self.seen
    klass = consumer(by: :key, retries: 1_000, backoff: 1..1) do |message|
      raise "no" if broken
      seen << message.value
    end
    client.produce_many("t", Array.new(2_700) { |index| [index.to_s, index.to_s] })
    run_consumers(klass)
    eventually { positions.any? { |one| one.state.to_s.bytesize > 2_500 } }
    broken = false
    finished(2_700)
    assert_equal 2_700, next_seen(seen.size).uniq.size
  end

  test "a dead letter of a dead letter returns to the topic of dead letters" do
    again = failing(topic: "t.dead", partitions: 8, retries: 0)
    work = Work::Testing.new(failing(retries: 0), again)
    work.produce("t", "a")
    work.drain
    letter = work.client.each("t.dead.dead").first
    topics = letter.headers.filter_map { |name, value| value if name == "godwit-topic" }
    assert_equal ["t.dead"], topics
    work.client.requeue("t.dead.dead", letter.partition, letter.offset)
    assert_equal [1, 2], %w[t t.dead].map { |name| work.values(name).size }
  end

  test "seek passes a damaged block, in its partition alone; the records before it are handled" do
    not_on :kafka, "the brokers and librdkafka check records: Work has no damaged blocks"
    topic = declare
    problems = events(:error)
    good, other = stored("good"), stored("other")
    Work.const_get(:StoredBlock).stub(:seal, ->(bytes) { bytes }) do
      engine.append([[topic, 0, good, 1], [topic, 0, "\x01damaged".b, 5], [topic, 0, good, 1],
        [topic, 1, other, 1]])
    end
    seen = self.seen
    run_consumers(consumer { |message| seen << [message.value, message.offset] })
    assert_equal [["good", 0], ["other", 0]], next_seen(2).sort
    eventually { problems.any? }
    finished(2)
    command = /give its 5 records up: `godwit-work seek GROUP t --partition (\d) --to (\d)`/
    partition, offset = problems[0][:error].message.match(command).captures.map(&:to_i)
    assert_equal [0, 6], [partition, offset]
    client.seek("g", "t", partition: partition, to: offset)
    assert_equal ["good", 6], seen.pop
    finished(8)
    assert_empty seen
    assert_raises(Godwit::ArgumentValueError) { client.seek("g", "t", partition: 2, to: 0) }
  end

  test "handlers that exit, throw, end their thread, or are interrupted fail as others" do
    declare
    failed = events(:failed)
    produce("exit", "throw", "end", "timeout", "memory", "ok")
    run_consumers(consumer { |message|
      next if message.attempt > 1
      case message.value
      when "exit" then exit
      when "throw" then throw :x
      when "end" then Thread.exit
      when "timeout" then Timeout.timeout(0.01) { sleep }
      when "memory" then raise NoMemoryError
      end
    }, workers: 1)
    finished(6)
    assert_equal 5, failed.size
    assert_equal %w[SystemExit UncaughtThrowError Timeout::Error NoMemoryError].sort,
      failed.map { |event| event[:error].class.name }.reject { |name| name.include?("Ended") }.sort
    assert_empty dead
  end

  test "a listener that raises is reported, and changes nothing" do
    problems = {
      "listener" => -> { raise "listener" }, "memory" => -> { raise NoMemoryError, "memory" },
      "no StandardError" => -> { raise NotImplementedError, "no StandardError" },
      "exit" => -> { exit }, "uncaught throw :x" => -> { throw :x }
    }
    work = in_memory { |message| raise "no" if message.attempt == 1 }
    problems.each_value { |ends| work.client.on(:failed) { ends.call } }
    work.produce("t", "a")
    _, err = capture_io { work.drain }
    problems.each_key { |text| assert_match(/a listener of failed raised: .*#{text}/, err) }
    assert_equal 1, work.committed(@klass)
    assert_raises(Godwit::ArgumentValueError) { client.on(:nothing) { nil } }
    assert_raises(Godwit::ArgumentValueError) { client.on(:failed) }
  end

  test "a record that cannot become a dead letter now runs again, with those behind it" do
    work = in_memory { |message| raise "no" if message.value == "a" }
    refused = [Work::LockedError.new("locked")] * 2
    work.client.define_singleton_method(:encode_raw) do |*arguments|
      refused.any? ? raise(refused.shift) : super(*arguments)
    end
    %w[a b].each { |value| work.produce("t", value, key: "k") }
    work.drain
    problems = work.events.select { |event| event.name == :error }
    assert_equal [%w[locked locked], 2],
      [problems.map { |event| event[:error].message }, work.committed(@klass)]
    letter = work.client.each("t.dead").first
    assert_equal "5", letter.headers.to_h["godwit-attempts"]
  end

  test "an error without a listener is a warning, once with the same text" do
    _, err = capture_io do
      %w[full full locked].each do |text|
        client.events.emit(:error, error: Work::LockedError.new(text))
      end
      events(:error)
      client.events.emit(:error, error: Work::LockedError.new("heard"))
    end
    assert_equal %w[full locked], err.scan(/^godwit-work: .*: (\w+) \(.*LockedError\)$/).flatten
  end

  # Lets three members end, one after the other, while the record at offset 0 runs alone.
  def three_ends
    topic = declare
    produce("a")
    join = -> { engine.join("g", topic, "/nowhere", [0, 0]) }
    3.times do
      dead = join.call
      engine.rebalance(dead).claims.each { |one| engine.note(one, 0) }
      other = join.call
      engine.rebalance(other, [dead.id])
      engine.leave(other.id)
    end
  end

  test "the dead letter of a record that ended three processes is safe before others run" do
    not_on :kafka, "there is no evict: the session's time-out gives a member's partitions to others"
    three_ends
    letters = Thread::Queue.new
    found = -> { dead.size }
    run_consumers(consumer(assigned: ->(_) { letters << found.call }) { nil })
    assert_equal 1, letters.pop
  end

  test "a record that ended three processes runs again when it cannot become a dead letter now" do
    not_on :kafka, "there is no evict: the session's time-out gives a member's partitions to others"
    three_ends
    client.define_singleton_method(:message_at) { |*| raise Work::LockedError, "locked" }
    errors = events(:error)
    run_consumers(noting)
    assert_equal "a", seen.pop
    finished(1)
    assert_equal ["locked"], errors.map { |event| event[:error].message }
  end
end
