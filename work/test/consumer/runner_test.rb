# frozen_string_literal: true

require "work_helper"
require "fileutils"
require "timeout"

# Consumers that run in this process, on a file.
class WorkRunnerTest < Godwit::WorkCase
  Work = Godwit::Work

  def path = File.join(scratch_dir, "work.db")

  # @return [Godwit::Work::Client]
  def client = @client ||= own(Work::Client.new(Work.const_get(:SqliteEngine).new(path)))

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
  def finished(count) = eventually { watermarks.sum == count }
  def dead(name = "t.dead") = client.each(name).to_a
  def values(topic) = client.each(topic).map(&:value)

  # @return [Array<Godwit::Work::Events::Event>] it fills up
  def events(*names)
    [].tap { |all| client.on(*names) { |event| all << event } }
  end

  test "perform gets each record once, in order" do
    declare
    seen = Thread::Queue.new
    produce(*"a".."e")
    run_consumers(consumer { |message| seen << message })
    first = Array.new(5) { seen.pop }
    assert_equal [*"a".."e"], first.map(&:value)
    assert_equal [["k", "t", 1, (0..4).to_a]],
      [[first[0].key, first[0].topic, first[0].attempt, first.map(&:offset)]]
    produce("f")
    assert_equal "f", seen.pop.value
    finished(6)
    stop_all
    run_consumers(consumer { |message| seen << message })
    produce("g")
    assert_equal "g", seen.pop.value
    finished(7)
    assert_empty seen
  end

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
    assert_match(/runner_test\.rb/, headers["godwit-backtrace"])
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

  test "the records of a key run in order, those of others at the same time" do
    declare
    lock = Mutex.new
    running = Hash.new(0)
    most = 0
    seen = Hash.new { |all, key| all[key] = [] }
    klass = consumer { |message|
      lock.synchronize { most = [most, running[message.key] += 1].max }
      Thread.pass
      lock.synchronize do
        running[message.key] -= 1
        seen[message.key] << message.value.to_i
      end
    }
    klass.parallel(by: ->(message) { message.key })
    records = Array.new(2_000) { |index| [index.to_s, (index % 7).to_s] }
    client.produce_many("t", records)
    run_consumers(klass, workers: 8)
    finished(2_000)
    assert_equal 1, most
    assert_equal 7, seen.size
    seen.each_value { |own| assert_equal own.sort, own }
    assert_equal 2_000, seen.each_value.sum(&:size)
  end

  test "outputs are written with the commit of their record, those of a failed attempt never" do
    declare
    declare("out")
    receipts = Thread::Queue.new
    run_consumers(consumer { |message|
      receipt = produce("out", "#{message.value}#{message.attempt}")
      receipts << [receipt, receipt.offset]
      raise "no" if message.value == "a" && message.attempt < 2
    })
    produce("a", "b")
    finished(2)
    assert_equal %w[a2 b1], values("out").sort
    found = Array.new(3) { receipts.pop }
    assert_equal [nil, nil, nil], found.map(&:last), "before the commit"
    assert_equal [false, true, true], found.map { |receipt, _| receipt.offset.is_a?(Integer) }
    assert_match(/braces/, assert_raises(Godwit::ArgumentValueError) {
      consumer { nil }.new.tap { |one| one.invocation = client_encoder }.send(:produce, "out", a: 1)
    }.message)
  end

  # What a handler's produce calls.
  def client_encoder
    one = client
    Object.new.tap do |encoder|
      encoder.define_singleton_method(:produce) { |*args, **options| one.encode(*args, **options) }
    end
  end

  test "transaction: statements, outputs and the commit are one" do
    declare
    declare("out")
    table = SQLite3::Database.new(path)
    table.execute("CREATE TABLE accounts (name TEXT, cents INTEGER)")
    seen = Thread::Queue.new
    run_consumers(consumer { |message|
      produce("out", message.value)
      result = transaction do |db|
        db.execute("INSERT INTO accounts VALUES (?, ?)", message.value, 5)
        raise "no" if message.value == "b" && message.attempt < 3
        db.execute("SELECT count(*) FROM accounts")
      end
      seen << [message.value, message.attempt, result]
      raise "after the commit" if message.value == "a"
    })
    produce("a", "b")
    finished(2)
    assert_equal [["a", 1, [[1]]], ["b", 3, [[2]]]], Array.new(2) { seen.pop }
    assert_equal [["a", 5], ["b", 5]], table.execute("SELECT * FROM accounts")
    assert_equal %w[a b], values("out").sort
    assert_empty seen
    assert_empty dead
  end

  test "the commit of outputs wakes the members of other processes" do
    declare
    out = declare("out")
    entered, go = Thread::Queue.new, Thread::Queue.new
    other = own(Work.const_get(:WakeUp).new(File.join(scratch_dir, "other")))
    client.engine.join("other", out, other.place, [0, 0])
    run_consumers(consumer { |message|
      produce("out", message.value)
      entered << true
      go.pop
    })
    produce("a")
    assert entered.pop
    other.clear
    go << true
    assert other.io.wait_readable(5)
  end

  test "transaction in consume commits the current record, or those that it is given" do
    declare
    declare("out")
    produce(*"a".."d")
    run_consumers(consumer(:consume) { |batch|
      batch.each do |message|
        produce("out", message.value)
        transaction { nil } if message.value == "a"
        raise "no" if message.value == "c" && message.attempt == 1
      end
      transaction(batch) { nil } if batch.any? { |message| message.value == "d" }
    })
    finished(4)
    assert_equal %w[a b c d], values("out").sort
    assert_empty dead
  end

  test "what a batch does outside of each finishes no record by itself" do
    declare
    seen = Thread::Queue.new
    errors = Thread::Queue.new
    produce(*"a".."h")
    run_consumers(consumer(:consume) { |batch|
      batch.each_slice(3) do |slice|
        raise "no" if batch.size > 1 && seen.empty? && slice.size > 1
        slice.each { |message| seen << message.value }
      end
      begin
        transaction { nil }
      rescue Godwit::StateError => error
        errors << error.message
      end
    })
    finished(8)
    assert_equal [*"a".."h"], Array.new(seen.size) { seen.pop }.uniq.sort
    assert_match(/which records\? write transaction/, errors.pop)
    messages = Array.new(3) { Work::Message.allocate }
    batch = Work::Batch.new(messages)
    batch.each { |one| assert_same one, batch.current if batch.count == 3 && batch.to_a.any? }
    assert_equal [0, 1, 2], [].tap { |found|
      batch.each_with_index { |one, at| found << at if one.equal?(batch.current) }
    }
    assert_nil batch.current
    batch.each { break }
    assert_nil batch.current
  end

  test "a record that is finished takes no outputs, and is not finished again" do
    declare
    declare("out")
    problems = events(:error)
    run_consumers(consumer { |message|
      produce("out", "before")
      transaction { |_| produce("out", "within") }
      case message.value
      when "produce" then produce("out", "after")
      when "again" then transaction { nil }
      when "end" then Thread.exit
      end
    }, workers: 1)
    produce("produce", "again", "end", "last")
    finished(4)
    assert_equal ["before"] * 4 + ["within"] * 4, values("out").sort
    eventually { problems.size == 2 }
    assert_match(/this record is finished/, problems[0][:error].message)
    assert_empty dead
  end

  test "outputs are as they were when they were produced" do
    declare
    declare("out")
    text = +""
    run_consumers(consumer { |message|
      text.replace(message.value)
      produce("out", text)
      text.clear
    })
    produce("a", "b")
    finished(2)
    assert_equal %w[a b], values("out").sort
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
    klass.retries(1_000, backoff: 0.1..0.1)
    client.produce_many("t", Array.new(4_000) { |index| [index.to_s, index.to_s] })
    run_consumers(klass)
    eventually {
      client.engine.positions("g", client.engine.topics["t"]).any? { |one|
        one.state.to_s.bytesize > 3_500
      }
    }
    broken = false
    finished(4_000)
    assert_equal 4_000, Array.new(seen.size) { seen.pop }.uniq.size
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
    [5..1, ..5, 0.., 1..nil].each do |range|
      assert_raises(Godwit::ArgumentValueError) { klass.retries(1, backoff: range) }
    end
    klass.retries(1, backoff: 0.1...0.5)
  end

  test "a damaged block stops its partition alone" do
    topic = declare
    problems = events(:error)
    client.engine.append([[topic, 0, "\x01damaged".b, 1], [topic, 1,
      Work.const_get(:Block).encode(["good"]), 1]])
    seen = Thread::Queue.new
    run_consumers(consumer { |message| seen << message.value })
    assert_equal "good", seen.pop
    eventually { problems.any? { |event| event[:error].message.include?("partition 0, offset 0") } }
  end

  test "a FIFO that something deletes is made again" do
    declare
    seen = Thread::Queue.new
    run_consumers(consumer { |message| seen << message.value })
    eventually { client.engine.members.size == 1 }
    FileUtils.rm_rf("#{path}.members")
    other = Work.const_get(:SqliteEngine).new(path)
    member = other.join("g", other.topics["t"], other.listen.place, [0, 0])
    other.rebalance(member, other.members.reject(&:alive).map(&:id))
    other.leave(member.id)
    other.close
    eventually { client.engine.members.map(&:place).any? { |place| File.exist?(place) } }
    produce("a")
    assert_equal "a", seen.pop
  end

  test "the log itself cannot be used inside of a transaction" do
    declare
    errors = Thread::Queue.new
    one = client
    run_consumers(consumer { |_|
      begin
        transaction { one.produce("t", "x") }
      rescue
        errors << $!
      end
    })
    produce("a")
    finished(1)
    assert_match(/use its db, and the handler's own produce/, errors.pop.message)
  end

  test "a statement that ends the transaction fails the record, and writes nothing twice" do
    declare
    declare("out")
    produce("COMMIT", "ROLLBACK", "rescued", "good")
    run_consumers(consumer { |message|
      produce("out", message.value)
      next if message.value == "good"
      transaction do |db|
        db.execute((message.value == "rescued") ? "ROLLBACK" : message.value)
      rescue
        raise unless message.value == "rescued"
      end
    })
    finished(4)
    assert_equal %w[good], values("out")
    assert_equal %w[COMMIT ROLLBACK rescued], dead.map(&:value)
    dead.each { |letter| assert_match(/a statement ended it/, letter.headers.to_h["godwit-error"]) }
  end

  test "consume gets a batch; its end finishes all records" do
    declare
    batches = Thread::Queue.new
    produce(*"a".."e")
    run_consumers(consumer(:consume) { |batch| batches << [batch.size, batch.map(&:value)] })
    found = []
    found.concat(batches.pop[1]) until found.size == 5
    assert_equal [*"a".."e"], found
    finished(5)
  end

  test "consume that raises: the current record fails, the ones before it are finished" do
    declare
    seen = Thread::Queue.new
    produce(*"a".."e")
    run_consumers(consumer(:consume) { |batch|
      batch.each do |message|
        seen << [message.value, message.attempt]
        raise "no" if message.value == "c" && message.attempt < 3
      end
    })
    finished(5)
    counts = Array.new(seen.size) { seen.pop }.tally
    assert_equal [1] * 7, counts.values
    assert_equal [["c", 1], ["c", 2], ["c", 3]], counts.keys.select { |pair| pair[0] == "c" }
  end

  test "the outputs of a batch are those of its finished records" do
    declare
    declare("out")
    produce(*"a".."e")
    run_consumers(consumer(:consume) { |batch|
      batch.each do |message|
        produce("out", "#{message.value}#{message.attempt}")
        raise "no" if message.value == "c" && message.attempt < 2
      end
    })
    finished(5)
    assert_equal %w[a1 b1 c2 d1 e1], values("out").sort
  end

  test "consume that raises elsewhere: the batch runs again, one record at a time" do
    declare
    batches = Thread::Queue.new
    produce(*"a".."d")
    run_consumers(consumer(:consume) { |batch|
      all = batch.map(&:value)
      batches << all
      raise "no" if all.size > 1 || all == ["b"]
    })
    finished(4)
    alone = Array.new(batches.size) { batches.pop }.select { |batch| batch.size == 1 }.flatten.tally
    assert_equal 1, alone["d"]
    assert_equal 3, alone["b"]
    assert_equal ["b"], dead.map(&:value)
  end

  test "done finishes one record of a batch" do
    declare
    failures = 0
    seen = Thread::Queue.new
    produce("a", "b")
    run_consumers(consumer(:consume) { |batch|
      batch.to_a.each do |message|
        seen << message.value
        done(message)
        raise "no" if message.value == "a" && (failures += 1) == 1
      end
    })
    finished(2)
    assert_equal %w[a b], Array.new(seen.size) { seen.pop }.sort
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

  # A worker takes many keys at a time when their handlers are fast.
  def each_its_key(count) = Array.new(count) { |index| [index.to_s, index.to_s] }

  test "a slow handler holds its key alone, also when its worker has taken more" do
    declare
    gate = Thread::Queue.new
    seen = Thread::Queue.new
    klass = consumer { |message| (message.value == "700") ? gate.pop : seen << message.value }
    klass.parallel(by: :key)
    client.produce_many("t", each_its_key(1_000))
    run_consumers(klass, workers: 2)
    eventually { seen.size == 999 }
    gate << true
    finished(1_000)
  end

  test "a handler that ends its thread holds no other key" do
    declare
    klass = consumer { |message| Thread.exit if message.value == "700" && message.attempt == 1 }
    klass.parallel(by: :key)
    client.produce_many("t", each_its_key(1_000))
    run_consumers(klass, workers: 1)
    finished(1_000)
  end

  test "a handler that hangs is left behind after the time to drain; its record runs again" do
    declare
    declare("out")
    entered, seen = Thread::Queue.new, Thread::Queue.new
    run_consumers(consumer { |message|
      produce("out", "hung")
      entered << message.attempt
      Thread::Queue.new.pop
    }, drain: 0)
    produce("a")
    assert_equal 1, entered.pop
    stop_all
    assert_equal [0, 0], watermarks
    run_consumers(consumer { |message| seen << message.attempt })
    assert_equal 1, seen.pop
    finished(1)
    assert_empty values("out")
  end

  test "produce raises in a handler whose partition another member has; nothing counts here" do
    declare
    declare("out")
    entered, gate, raised = Array.new(3) { Thread::Queue.new }
    lost, failed = events(:lost), events(:failed)
    run_consumers(consumer { |message|
      entered << message.attempt
      gate.pop
      begin
        produce("out", message.value)
      rescue Work::LostError => error
        raised << error.message
        raise
      end
    })
    produce("a")
    assert_equal 1, entered.pop
    client.evict(client.engine.members.map(&:id).first)
    eventually { lost.any? }
    gate << true
    assert_match(/is no longer of this member: another one has it/, raised.pop)
    assert_equal 1, entered.pop # the member that joined again runs it
    gate << true
    finished(1)
    assert_equal ["a"], values("out")
    assert_empty failed
  end

  test "a listener that raises is reported, and changes nothing" do
    declare
    client.on(:failed) { raise "listener" }
    client.on(:failed) { raise NotImplementedError, "no StandardError" }
    client.on(:failed) { exit }
    _, err = capture_io do
      run_consumers(consumer { |message| raise "no" if message.attempt == 1 })
      produce("a")
      finished(1)
    end
    ["listener", "no StandardError", "exit"].each do |text|
      assert_match(/a listener of failed raised: .*#{text}/, err)
    end
    assert_raises(Godwit::ArgumentValueError) { client.on(:nothing) { nil } }
    assert_raises(Godwit::ArgumentValueError) { client.on(:failed) }
  end

  test "several groups and classes in one process" do
    declare
    seen = Thread::Queue.new
    one = consumer { |message| seen << ["g", message.value] }
    two = consumer { |message| seen << ["h", message.value] }
    two.group "h"
    run_consumers(one, two)
    produce("a")
    assert_equal [%w[g a], %w[h a]], [seen.pop, seen.pop].sort
  end

  test "a new group begins where its class says" do
    declare
    produce("old")
    seen = Thread::Queue.new
    late = consumer { |message| seen << message.value }
    late.start_from :latest
    run_consumers(late)
    eventually { client.engine.positions("g", client.engine.topics["t"]).count(&:member) == 2 }
    produce("new")
    assert_equal "new", seen.pop
    assert_raises(Godwit::ArgumentValueError) { late.start_from(:middle) }
  end

  test "a member that was taken for dead joins again" do
    declare
    lost = events(:lost)
    seen = Thread::Queue.new
    run_consumers(consumer { |message| seen << message.value })
    eventually { client.engine.positions("g", client.engine.topics["t"]).count(&:member) == 2 }
    taken = client.engine.members.map(&:id).first
    other = client.engine.join("g", client.engine.topics["t"], "/nowhere", [0, 0])
    client.engine.rebalance(other, [taken])
    client.engine.leave(other.id)
    eventually { client.engine.members.map(&:id).any? { |id| id > other.id } }
    produce("a")
    assert_equal "a", seen.pop
    finished(1)
    assert_equal [0, 1], lost.map { |event| event[:partition] }.sort
  end

  test "quiet takes no new records; stop lets the running one finish" do
    declare
    entered, go = Thread::Queue.new, Thread::Queue.new
    seen = Thread::Queue.new
    runner = run_consumers(consumer { |message|
      entered << message.value
      go.pop
      seen << message.value
    }, workers: 1)
    produce("a", "b")
    assert_equal "a", entered.pop
    runner.quiet
    runner.stop
    go << true
    stop_all
    assert_equal "a", seen.pop
    assert_equal [1], watermarks.select(&:positive?)
    assert_empty entered
  end

  test "what ends after stop is committed while other handlers still run" do
    declare
    entered, go = Thread::Queue.new, Hash.new { |all, value| all[value] = Thread::Queue.new }
    %w[a b].each { |value| go[value] }
    klass = consumer { |message|
      entered << message.value
      go[message.value].pop
    }
    klass.parallel by: :key
    %w[a b].each { |value| produce(value, key: value) }
    runner = run_consumers(klass, workers: 2)
    assert_equal %w[a b], Array.new(2) { entered.pop }.sort
    runner.stop
    go["b"] << true
    eventually do
      client.engine.positions("g", client.engine.topics["t"])
        .sum { |one| Work.const_get(:Progress).new(one.watermark, one.state).count } == 1
    end
    go["a"] << true
    stop_all
    assert_equal 2, watermarks.sum
  end

  test "stop ends a handler that hangs in its transaction" do
    declare
    stuck = Thread::Queue.new
    failed = events(:failed)
    klass = consumer { |message|
      transaction { sleep if message.value == "hang" }
    }
    klass.stuck_after(0.01)
    client.on(:stuck) { |event| stuck << event[:message].value }
    produce("good", "hang")
    run_consumers(klass, drain: 0.05)
    assert_equal "hang", stuck.pop # the coordinator waits for its commit by then
    stop_all
    assert_equal 1, watermarks.sum
    assert_empty failed
    assert_empty client.engine.members
  end

  test "a runner runs once" do
    declare
    seen = Thread::Queue.new
    runner = run_consumers(consumer { |message| seen << message.value })
    eventually { runner.started? }
    says = /this runner runs already, or has ended: make another with Godwit::Work::Runner.new/
    assert_match says, assert_raises(Godwit::StateError) { runner.run }.message
    produce("a")
    assert_equal "a", seen.pop
    stop_all
    assert_match says, assert_raises(Godwit::StateError) { runner.run }.message
  end

  test "classes that cannot run" do
    none = Class.new(Work::Consumer) { topic "t" }
    nothing = consumer { nil }
    nothing.settings.topic = nil
    {
      -> { Work::Runner.new([none], client: client) } => /handles nothing: write def perform/,
      -> { Work::Runner.new([consumer { nil }, consumer { nil }], client: client) } =>
        /have one topic and group/,
      -> { nothing.declare(client) } => /has no topic: write topic "name"/
    }.each { |call, says| assert_match says, assert_raises(Godwit::StateError, &call).message }
    [*[[], none, [String], ["Payments"]].map { |wrong|
       -> { Work::Runner.new(wrong, client: client) }
     },
      -> { client.produce(:t, "a") },
      -> { Work::Runner.new([consumer { nil }], client: client, workers: 0) },
      -> { none.retries(-1) }, -> { none.retries(1, backoff: 5) }, -> { none.parallel(by: 5) }]
      .each { |call| assert_raises(Godwit::ArgumentValueError, &call) }
    assert_equal "billing-card_payments", Class.new(Work::Consumer)
      .tap { |one| one.define_singleton_method(:name) { "Billing::CardPayments" } }.group_name
  end
end
