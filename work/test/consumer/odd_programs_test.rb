# frozen_string_literal: true

require "work_helper"
require "timeout"
require "godwit/work/testing"

# Programs that do odd things: no record is lost, none runs twice, and the others go on.
class WorkOddProgramsTest < Godwit::WorkCase
  # @return [Godwit::Work::Testing] with a consumer of the topic "t", whose handler is the block
  def work(handler = :perform, by: :partition, retries: 0, &block)
    @klass = Class.new(Godwit::Work::Consumer) do
      topic "t", partitions: 1, format: :text
      group "g"
      retries retries, backoff: 0..0
      parallel by: by
      define_method(handler, &block)
    end
    Godwit::Work::Testing.new(@klass)
  end

  # @return [Array<String>] the errors of the dead letters
  def errors(work)
    work.client.each("t.dead").map { |letter| letter.headers.to_h["godwit-error"] }
  end

  test "parallel by: a key without a hash, or any error, fails the record" do
    keys = {"basic" => -> { BasicObject.new }, "later" => -> { raise NotImplementedError, "later" },
            "exit" => -> { exit }}
    seen = []
    by = ->(message) { keys.fetch(message.value) { -> { message.value } }.call }
    one = work(by: by) do |message|
      seen << message.value
    end
    values = ["a", *keys.keys, "b"]
    one.client.produce_many("t", values.zip)
    one.drain
    assert_equal %w[a b], seen
    assert_equal 5, one.committed(@klass)
    assert_equal %w[NoMethodError NotImplementedError SystemExit],
      errors(one).map { |error| error[/\w+/] }.sort
  end

  test "a Timeout that expires after the commit of a transaction: the record does not run again" do
    runs = commits = 0
    one = work(retries: 2) do |_|
      runs += 1
      transaction { |_| produce("out", "a") }
    end
    one.client.topic("out", format: :text)
    one.produce("t", "a")
    # The end of a commit, where a process may wait for the lock of the file.
    one.client.engine.file.define_singleton_method(:checkpoint) do |_|
      next if (commits += 1) > 1
      Thread.new(Thread.current) { |thread| thread.raise(Timeout::Error) }.join
    end
    one.drain
    assert_equal [1, 1], [runs, one.committed(@klass)]
    assert_equal ["a"], one.values("out")
    assert_equal [:error], one.events.map(&:name)
  end

  test "produce in a transaction finds a topic that another process has made" do
    one = work { |_| transaction { |_| produce("late", "a") } }
    one.produce("t", "a") # this client knows the topics of now
    Godwit::Work::Client.new(one.client.engine).topic("late", format: :text)
    one.drain
    assert_equal ["a"], one.values("late")
    assert_empty one.events
  end

  test "the db of a transaction that has ended takes no statement" do
    kept = []
    one = work(retries: 0) do |message|
      transaction do |db|
        kept << db
        raise "no" if message.value == "b"
      end
    end
    one.produce("t", "a")
    one.produce("t", "b")
    one.drain
    assert_equal 2, kept.size
    kept.each do |db|
      error = assert_raises(Godwit::StateError) { db.execute("CREATE TABLE late (id)") }
      assert_match(/has ended: use it only in the block of transaction/, error.message)
    end
  end

  test "execute keeps no statement: a program may write values into the SQL" do
    one = work { |_| transaction { |db| 100.times { |index| db.execute("SELECT #{index}") } } }
    one.produce("t", "a")
    database = one.client.engine.file.database
    statements = database.instance_variable_get(:@statements)
    one.drain
    assert_empty one.events
    assert_empty statements.keys.grep(/SELECT \d+\z/)
  end

  test "wrong statements and transactions name the fix" do
    calls = {
      "two" => ->(db) { db.execute("SELECT 1; SELECT 2") },
      "none" => ->(db) { db.execute(" ") },
      "semicolon" => ->(db) { db.execute("SELECT 1; ") }
    }
    one = work do |message|
      transaction do |db|
        calls.fetch(message.value) { ->(_) { transaction { |_| nil } } }.call(db)
      end
    end
    one.client.produce_many("t", [*calls.keys, "nested"].map { |value| [value, "key"] })
    one.drain
    assert_equal %w[two none nested], one.values("t.dead")
    [/SELECT 2: execute takes one statement/, / : execute takes one statement/,
      /use the db of the outer one/].zip(errors(one)) { |says, error| assert_match says, error }
  end

  test "produce for a record of a batch that is done is an error; no output is lost" do
    seen = []
    one = work(:consume, retries: 1) do |batch|
      batch.each do |message|
        done(message) if message.value == "a"
        produce("out", message.value)
      rescue Godwit::StateError => error
        seen << error.message
      ensure
        raise "no" if message.value == "b" && message.attempt == 1
      end
    end
    one.client.topic("out", format: :text)
    one.client.produce_many("t", %w[a b c].zip)
    one.drain
    assert_match(/this record is finished/, seen.join)
    assert_equal %w[b c], one.values("out")
  end

  test "a handler that ends its thread after done: the record does not run again" do
    seen = []
    one = work(:consume) do |batch|
      raise "one by one" if batch.size > 1
      seen << batch.first.value
      done(batch.first)
      Thread.exit if seen == ["a"]
    end
    one.client.produce_many("t", %w[a b].zip)
    Thread.new { one.drain }.join
    one.drain
    assert_equal %w[a b], seen
    assert_equal 2, one.committed(@klass)
  end

  test "a runner ends with an error when its log is closed" do
    work { |_| nil }
    client = Godwit::Work::Client.new(shared_engine)
    runner = Godwit::Work::Runner.new([@klass], client: client)
    thread = in_thread do
      runner.run
    rescue Godwit::Work::ClosedError => error
      error.message
    end
    eventually { client.members.any? { |member| member.partitions == 1 } }
    client.close
    assert_match(/was closed: connect again/, Timeout.timeout(10) { thread.value })
  end
end
