# frozen_string_literal: true

require "support/running_consumers"
require "timeout"

# Records that fail: retries and dead letters.
class WorkFailuresTest < Godwit::WorkCase
  include RunningConsumers

  test "a record that fails runs again, before the records behind it; then it is a dead letter" do
    declare
    failed = events(:failed)
    buried = events(:dead)
    seen = Thread::Queue.new
    produce("good", "bad", "later")
    run_consumers(consumer { |message|
      seen << [message.value, message.attempt]
      raise "no" if message.value == "bad"
    })
    assert_equal [["good", 1], ["bad", 1], ["bad", 2], ["bad", 3], ["later", 1]],
      Array.new(5) { seen.pop }
    finished(3)
    letter = dead.first
    headers = letter.headers.to_h
    assert_equal ["bad", "k"], [letter.value, letter.key]
    assert_equal ["RuntimeError: no", "3", "g", "t", "1"],
      headers.values_at(*%w[error attempts group topic offset].map { |name| "godwit-#{name}" })
    assert_match(/failures_test\.rb/, headers["godwit-backtrace"])
    assert_equal [1, 2, 3], failed.map { |event| event[:attempts] }
    assert_equal [["t.dead", "bad"]], buried.map { |event| [event[:topic], event[:message].value] }
  end

  test "attempts are kept through a restart" do
    declare
    seen = Thread::Queue.new
    klass = consumer { |message|
      seen << message.attempt
      raise "no"
    }
    klass.retries(2, backoff: 1_000..1_000)
    run_consumers(klass)
    produce("bad")
    assert_equal 1, seen.pop
    stop_all
    run_consumers(klass)
    assert_equal 2, seen.pop
    stop_all
    assert_empty seen
    assert_equal [0, 0], watermarks
  end

  test "dead_letter: another topic, or none" do
    declare
    other = consumer { raise "no" }
    other.dead_letter "graves"
    run_consumers(other)
    produce("a")
    finished(1)
    assert_equal ["a"], dead("graves").map(&:value)
    stop_all
    other.dead_letter false
    buried = events(:dead)
    run_consumers(other)
    produce("b")
    finished(2)
    assert_equal [nil], buried.map { |event| event[:topic] }
    assert_equal %w[graves t], client.topics.map(&:name)
  end

  test "a value that does not decode is a dead letter at once" do
    topic = declare
    seen = []
    bytes = Work.const_get(:Block).encode(["\xff"])
    client.engine.append([[topic, 0, bytes, 1]])
    run_consumers(consumer { |message| seen << message.attempt << message.value })
    finished(1)
    assert_equal [[1], "\xff".b], [seen, dead.first.raw]
  end

  test "an error whose message raises" do
    declare
    runs = []
    broken = Class.new(StandardError) { def message = raise("none") }
    klass = consumer do |message|
      runs << message.attempt
      raise broken
    end
    klass.retries(1, backoff: 0..0)
    produce("a")
    run_consumers(klass)
    finished(1)
    assert_equal [1, 2], runs
    assert_match(/: its message raised RuntimeError\z/, dead.first.headers.to_h["godwit-error"])
  end

  test "by key, a record that fails blocks its key alone" do
    declare
    seen = Thread::Queue.new
    held = Thread::Queue.new
    klass = consumer(partitions: 2) { |message|
      seen << message.value
      held.pop if message.value == "wait"
      raise "no" if message.value == "a1" && message.attempt == 1
    }
    klass.parallel(by: :key)
    klass.retries(1, backoff: 1_000..1_000)
    client.produce_many("t", [%w[a1 a], %w[wait w], %w[a2 a], %w[b1 b], %w[b2 b], %w[w2 w]])
    run_consumers(klass, workers: 2)
    assert_equal %w[a1 b1 b2 wait], Array.new(4) { seen.pop }.sort
    eventually { client.engine.positions("g", client.engine.topics["t"]).any?(&:state) }
    held << true
    assert_equal "w2", seen.pop
    stop_all
    assert_empty seen, "a2 waits for a1"
    klass.retries(1, backoff: 0..0)
    run_consumers(klass)
    finished(6)
    assert_equal %w[a1 a2], Array.new(2) { seen.pop }
    assert_empty seen
  end

  test "a full progress lets the failed records run again" do
    declare
    broken = true
    seen = Thread::Queue.new
    klass = consumer { |message|
      raise "no" if broken
      seen << message.value
    }
    klass.parallel(by: :key)
    klass.retries(1_000, backoff: 1..1)
    client.produce_many("t", Array.new(2_700) { |index| [index.to_s, index.to_s] })
    run_consumers(klass)
    eventually {
      client.engine.positions("g", client.engine.topics["t"]).any? { |one|
        one.state.to_s.bytesize > 2_500
      }
    }
    broken = false
    finished(2_700)
    assert_equal 2_700, Array.new(seen.size) { seen.pop }.uniq.size
  end

  test "a constructor that raises fails the record" do
    declare
    seen = Thread::Queue.new
    made = 0
    klass = consumer { |message| seen << message.attempt }
    klass.define_method(:initialize) { raise "no" if (made += 1) == 1 }
    run_consumers(klass)
    produce("a")
    finished(1)
    assert_equal 2, seen.pop
    [5..1, ..5, 0.., 1..nil, 0..Float::INFINITY].each do |range|
      assert_raises(Godwit::ArgumentValueError) { klass.retries(1, backoff: range) }
    end
    klass.retries(1, backoff: 0.1...0.5)
    klass.retries(1, backoff: 1/2r..3r)
    assert_equal 0.5..3, klass.settings.backoff
  end

  test "a dead letter of a dead letter returns to the topic of dead letters" do
    failing = consumer { |_| raise "first" }
    again = consumer(topic: "t.dead", partitions: 8) { |_| raise "second" }
    [failing, again].each { |one| one.retries(0) }
    run_consumers(failing, again)
    eventually { client.topics.any? { |one| one.name == "t.dead.dead" } }
    produce("a")
    eventually { dead("t.dead.dead").any? }
    letter = dead("t.dead.dead").first
    assert_equal [1, "t.dead"], [letter.headers.map(&:first).count("godwit-topic"),
      letter.headers.to_h["godwit-topic"]]
    stop_all
    client.requeue("t.dead.dead", letter.partition, letter.offset)
    assert_equal [1, 2], [client.each("t").count, dead.size]
  end

  DAMAGED = "\x01damaged".b

  # @return [String] a block of this value, as the file has it
  def stored(value)
    Work.const_get(:StoredBlock).seal(Work.const_get(:Block).encode([value]))
  end

  # @param batches [Array<Array>] with blocks that are written as they are
  def write(*batches)
    Work.const_get(:StoredBlock).stub(:seal, ->(bytes) { bytes }) { client.engine.append(batches) }
  end

  test "seek passes a damaged block, in its partition alone; the records before it are handled" do
    not_on :kafka, "the brokers and librdkafka check records: Work has no damaged blocks"
    topic = declare
    problems = events(:error)
    good = stored("good")
    write([topic, 0, good, 1], [topic, 0, DAMAGED, 5], [topic, 0, good, 1],
      [topic, 1, stored("other"), 1])
    seen = Thread::Queue.new
    run_consumers(consumer { |message| seen << [message.value, message.offset] })
    assert_equal [["good", 0], ["other", 0]], Array.new(2) { seen.pop }.sort
    eventually { problems.any? }
    finished(2)
    command = /give its 5 records up: `godwit-work seek GROUP t --partition (\d) --to (\d)`/
    found = problems[0][:error].message.match(command).captures.map(&:to_i)
    assert_equal [0, 6], found
    client.seek("g", "t", partition: found[0], to: found[1])
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
    declare
    client.on(:failed) { raise "listener" }
    client.on(:failed) { raise NotImplementedError, "no StandardError" }
    client.on(:failed) { exit }
    client.on(:failed) { raise NoMemoryError, "memory" }
    client.on(:failed) { throw :x }
    _, err = capture_io do
      run_consumers(consumer { |message| raise "no" if message.attempt == 1 })
      produce("a")
      finished(1)
    end
    ["listener", "no StandardError", "exit", "memory", "uncaught throw :x"].each do |text|
      assert_match(/a listener of failed raised: .*#{text}/, err)
    end
    assert_raises(Godwit::ArgumentValueError) { client.on(:nothing) { nil } }
    assert_raises(Godwit::ArgumentValueError) { client.on(:failed) }
  end

  test "a record that cannot become a dead letter now runs again, with those behind it" do
    declare
    problems = events(:error)
    refused = [Work::LockedError.new("locked")] * 2
    client.define_singleton_method(:encode_raw) do |*arguments|
      refused.any? ? raise(refused.shift) : super(*arguments)
    end
    run_consumers(consumer { |message| raise "no" if message.value == "a" })
    produce("a", "b")
    finished(2)
    assert_equal %w[locked locked], problems.map { |event| event[:error].message }
    assert_equal ["5"], dead.map { |letter| letter.headers.to_h["godwit-attempts"] }
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

  # The processes ended while the record at offset 0 ran alone.
  def three_ends
    topic = declare
    produce("a")
    member = client.engine.join("g", topic, "/nowhere", [0, 0])
    3.times do
      claims = client.engine.rebalance(member).claims
      claims.each { |one| client.engine.note(one, 0) }
      other = client.engine.join("g", topic, "/nowhere", [0, 0])
      client.engine.rebalance(other, [member.id])
      client.engine.leave(other.id)
      member = client.engine.join("g", topic, "/nowhere", [0, 0])
    end
    client.engine.leave(member.id)
  end

  test "the dead letter of a record that ended three processes is safe before others run" do
    not_on :kafka, "there is no evict: the session's time-out gives a member's partitions to others"
    three_ends
    letters = Thread::Queue.new
    found = -> { dead.size }
    klass = consumer { |_| nil }
    klass.define_method(:assigned) { |_| letters << found.call }
    run_consumers(klass)
    assert_equal 1, letters.pop
  end

  test "a record that ended three processes runs again when it cannot become a dead letter now" do
    not_on :kafka, "there is no evict: the session's time-out gives a member's partitions to others"
    three_ends
    client.define_singleton_method(:message_at) { |*| raise Godwit::Work::LockedError, "locked" }
    errors = events(:error)
    seen = Thread::Queue.new
    run_consumers(consumer { |message| seen << message.value })
    assert_equal "a", seen.pop
    finished(1)
    assert_equal ["locked"], errors.map { |event| event[:error].message }
  end
end
