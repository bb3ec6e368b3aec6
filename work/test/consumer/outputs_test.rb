# frozen_string_literal: true

require "support/running_consumers"

# What handlers produce, and what they write to the database in transactions.
class WorkOutputsTest < Godwit::WorkCase
  include RunningConsumers

  # Declares the topic "t" for the records, and "out" for the outputs.
  def setup
    super
    declare
    declare("out")
  end

  test "outputs are written with the commit of their record, those of a failed attempt never" do
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
  end

  test "a group that reads outputs reaches a lag of 0, also when it starts or reads again" do
    reads = noting(topic: "out")
    writes = consumer { |message| produce("out", message.value, key: message.value) }
    all = [*"a".."e"]
    no_lag = -> { client.groups.map(&:lag) == [0, 0] }
    2.times do
      produce(*all)
      run_consumers(writes, reads)
      assert_equal all, next_seen(5).sort
      eventually(&no_lag)
      stop_all
      assert no_lag.call
    end
    run_consumers(writes, reads)
    client.seek("g", "out", to: :earliest)
    assert_equal (all * 2).sort, next_seen(10).sort
    # A lag of 0 may be from before the seek. With new consumers a lag of 0 means a full commit.
    stop_all
    run_consumers(writes, reads)
    eventually(&no_lag)
  end

  test "transaction: statements, outputs and the commit are one" do
    not_on :kafka, "transaction is SQL on the SQLite file of the log"
    table = SQLite3::Database.new(path)
    table.execute("CREATE TABLE accounts (name TEXT, cents INTEGER)")
    seen = self.seen
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
    assert_equal [["a", 1, [[1]]], ["b", 3, [[2]]]], next_seen(2)
    assert_equal [["a", 5], ["b", 5]], table.execute("SELECT * FROM accounts")
    assert_equal %w[a b], values("out").sort
    assert_equal [true, []], [seen.empty?, dead]
  end

  test "the commit of outputs wakes the members of other processes" do
    entered, go = Thread::Queue.new, Thread::Queue.new
    other = own(engine.listen)
    member = engine.join("other", engine.topics["out"], other.path, [0, 0])
    # librdkafka wakes a member only if the member's queue was empty, so the test fetches first.
    claims(member, 2).each { |one| client.fetch(one, 0, 1) }
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

  test "outputs are as they were when they were produced" do
    text = +""
    run_consumers(consumer { |message|
      produce("out", text.replace(message.value))
      text.clear
    })
    produce("a", "b")
    finished(2)
    assert_equal %w[a b], values("out").sort
  end

  # Removes the partitions from their member: by an eviction, or by a seek on Kafka, which has no
  # evictions.
  def take_away
    return client.seek("g", "t", to: :earliest) if KafkaLog::ON
    client.evict(client.engine.members.map(&:id).first)
  end

  test "produce raises in a handler whose partition another member has; nothing counts here" do
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
    take_away
    eventually { lost.any? }
    gate << true
    assert_match(/is no longer of this member: another one has it/, raised.pop)
    assert_equal 1, entered.pop # the member that joined again runs the record
    gate << true
    finished(1)
    assert_equal ["a"], values("out")
    assert_empty failed
  end
end
