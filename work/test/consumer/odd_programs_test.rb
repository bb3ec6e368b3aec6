# frozen_string_literal: true

require "support/running_consumers"
require "timeout"

# Handlers that misuse the API: no record is lost, none runs twice, and other records still run.
class WorkOddProgramsTest < Godwit::WorkCase
  include RunningConsumers

  # A log in memory whose topic "t" has these records, and a consumer whose handler is the block.
  # The records have one key, so their dead letters are in one partition, in order.
  # @return [Godwit::Work::Testing]
  def work(*values, handler: :perform, retries: 0, **options, &block)
    in_memory(handler, partitions: 1, retries: retries, **options, &block).tap do |work|
      work.client.topic("out", partitions: 1, format: :text)
      work.client.produce_many("t", values.map { |value| [value, "k"] })
    end
  end

  # @return [Array<String>] the error texts in the headers of the dead letters
  def errors(work)
    work.client.each("t.dead").map { |letter| letter.headers.to_h["godwit-error"] }
  end

  test "parallel by: a key without a hash, or any error, fails the record" do
    keys = {"basic" => -> { BasicObject.new }, "later" => -> { raise NotImplementedError, "later" },
            "exit" => -> { exit }}
    ran = []
    by = ->(message) { keys.fetch(message.value) { -> { message.value } }.call }
    one = work("a", *keys.keys, "b", by: by) { |message| ran << message.value }
    one.drain
    assert_equal [%w[a b], 5], [ran, one.committed(@klass)]
    assert_equal %w[NoMethodError NotImplementedError SystemExit],
      errors(one).map { |error| error[/\w+/] }.sort
  end

  test "a Timeout that expires after the commit of a transaction: the record does not run again" do
    runs = commits = 0
    one = work("a", retries: 2) do |_|
      runs += 1
      transaction { |_| produce("out", "a") }
    end
    # A commit ends with a checkpoint, which may wait for a lock: the test raises the Timeout there.
    one.client.engine.file.define_singleton_method(:checkpoint) do |_|
      next if (commits += 1) > 1
      Thread.new(Thread.current) { |thread| thread.raise(Timeout::Error) }.join
    end
    one.drain
    assert_equal [1, 1, ["a"], [:error]],
      [runs, one.committed(@klass), one.values("out"), one.events.map(&:name)]
  end

  test "produce in a transaction finds a topic that another process has made" do
    one = work("a") { |_| transaction { |_| produce("late", "a") } } # not in the client's cache
    Work::Client.new(one.client.engine).topic("late", format: :text)
    one.drain
    assert_equal [["a"], []], [one.values("late"), one.events]
  end

  test "the db of a transaction that has ended takes no statement" do
    ended = []
    one = work("a", "b") do |message|
      transaction do |db|
        ended << db
        raise "no" if message.value == "b"
      end
    end
    one.drain
    assert_equal 2, ended.size
    ended.each do |db|
      error = assert_raises(Godwit::StateError) { db.execute("CREATE TABLE late (id)") }
      assert_match(/has ended: use it only in the block of transaction/, error.message)
    end
  end

  test "execute retains no statement: a program may write values into the SQL" do
    one = work("a") { |_| transaction { |db| 100.times { |index| db.execute("SELECT #{index}") } } }
    statements = one.client.engine.file.database.instance_variable_get(:@statements)
    one.drain
    assert_equal [[], []], [one.events, statements.keys.grep(/SELECT \d+\z/)]
  end

  test "the log itself cannot be used inside of a transaction" do
    one = work("a") { |_| transaction { one.produce("t", "x") } }
    one.drain
    assert_match(/use its db, and the handler's own produce/, errors(one)[0])
  end

  test "a statement that ends the transaction fails the record, and writes nothing twice" do
    one = work("COMMIT", "ROLLBACK", "rescued", "good") do |message|
      produce("out", message.value)
      next if message.value == "good"
      transaction do |db|
        db.execute((message.value == "rescued") ? "ROLLBACK" : message.value)
      rescue
        raise unless message.value == "rescued"
      end
    end
    one.drain
    assert_equal [%w[good], %w[COMMIT ROLLBACK rescued]],
      [one.values("out"), one.values("t.dead")]
    errors(one).each { |error| assert_match(/a statement ended it/, error) }
  end

  test "a record that is finished takes no outputs, and is not finished again" do
    one = work("produce", "again", "end", "last") do |message|
      produce("out", "before")
      transaction { |_| produce("out", "within") }
      case message.value
      when "produce" then produce("out", "after")
      when "again" then transaction { nil }
      when "end" then Thread.exit
      end
    end
    Thread.new { one.drain }.join
    one.drain
    assert_equal [["before"] * 4 + ["within"] * 4, 4],
      [one.values("out").sort, one.committed(@klass)]
    assert_equal %i[error error], one.events.map(&:name)
    one.events.each { |event| assert_match(/this record is finished/, event[:error].message) }
  end

  test "a transaction of a partition that was lost is no failure of its record" do
    attempts = []
    one = work("a") do |message|
      attempts << message.attempt
      one.client.evict(one.client.members[0].member) if attempts.size == 1
      transaction { |_| nil }
    end
    2.times { one.drain } # at the second drain the next member runs the record
    assert_equal [[1, 1], 1, %i[lost]],
      [attempts, one.committed(@klass), one.events.map(&:name)]
  end

  test "wrong statements and transactions name the fix" do
    calls = {
      "SELECT 1; SELECT 2" => /SELECT 2: execute takes one statement/,
      " " => / : execute takes one statement/,
      "nested" => /use the db of the outer one/
    }
    one = work("SELECT 1; ", *calls.keys) do |message|
      transaction do |db|
        (message.value == "nested") ? transaction { |_| nil } : db.execute(message.value)
      end
    end
    one.drain
    assert_equal calls.keys, one.values("t.dead")
    calls.each_value.zip(errors(one)) { |says, error| assert_match says, error }
  end

  test "produce for a record of a batch that is done is an error; no output is lost" do
    errors = []
    one = work("a", "b", "c", handler: :consume, retries: 1) do |batch|
      batch.each do |message|
        done(message) if message.value == "a"
        produce("out", message.value)
      rescue Godwit::StateError => error
        errors << error.message
      ensure
        raise "no" if message.value == "b" && message.attempt == 1
      end
    end
    one.drain
    assert_match(/this record is finished/, errors.join)
    assert_equal %w[b c], one.values("out")
  end

  test "a handler that ends its thread after done: the record does not run again" do
    ran = []
    one = work("a", "b", handler: :consume, retries: 0) do |batch|
      raise "one by one" if batch.size > 1
      ran << batch.first.value
      done(batch.first)
      Thread.exit if ran == ["a"]
    end
    Thread.new { one.drain }.join
    one.drain
    assert_equal [%w[a b], 2], [ran, one.committed(@klass)]
  end

  test "a runner ends with an error when its log is closed" do
    runner = Work::Runner.new([consumer { nil }], client: client)
    thread = in_thread do
      runner.run
    rescue Work::ClosedError => error
      error.message
    end
    eventually { client.members.any? { |member| member.partitions == 2 } }
    client.close
    assert_match(/was closed: connect again/, ended(thread))
    assert_match(/\(closed\)/, client.inspect)
  end
end
