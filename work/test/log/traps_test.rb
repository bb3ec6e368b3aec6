# frozen_string_literal: true

require "support/running_consumers"

# Tests of behavior of SQLite that can make a program lose data. file_test.rb tests SQLite's
# settings, forks, and files that the engine rejects.
class WorkTrapsTest < Godwit::WorkCase
  include RunningConsumers

  def setup
    super
    not_on :kafka, "it is about SQLite and its file"
  end

  def database = engine.file.database

  # @return [Object] SQLite's own connection to the test's file. It does not wait for a locked file.
  def raw = @raw ||= SQLite3::Database.new(path)

  def write_elsewhere = raw.execute("INSERT INTO others VALUES (1)")

  def others
    engine
    raw.execute("CREATE TABLE others (id INTEGER)")
  end

  # @return [Array<String>] this process's locks on the database file, from /proc/locks
  def locks
    inode = File.stat(path).ino
    File.readlines("/proc/locks").grep(/ #{Process.pid} \h+:\h+:#{inode} /)
  end

  def declare(name = "t", **settings)
    client.topic(name, partitions: 1, format: :raw, **settings)
  end

  # Runs a consumer, whose handler is the block, until `done` is true.
  def consume(done, &block)
    run_consumers(consumer(partitions: nil, format: nil, &block))
    eventually(&done)
    stop_all
  end

  test "no write comes between a transaction's read and its own write" do
    others
    database.transaction do
      assert_equal 0, database.value("SELECT count(*) FROM others")
      assert_raises(SQLite3::BusyException) { write_elsewhere }
      database.rows("INSERT INTO others VALUES (2)")
    end
    write_elsewhere
    assert_equal [[2], [1]], raw.execute("SELECT id FROM others")
  end

  test "no commit comes during a checkpoint, and no connection checkpoints by itself" do
    others
    seen = []
    checkpointer = Object.new
    test = self
    checkpointer.define_singleton_method(:rows) do |sql|
      seen << sql
      test.assert_raises(SQLite3::BusyException) { test.write_elsewhere }
    end
    database.checkpoint(checkpointer)
    assert_equal ["PRAGMA wal_checkpoint(PASSIVE)"], seen
    write_elsewhere
  end

  test "a checkpoint does not wait for a reader" do
    declare
    produce("a")
    statement = raw.prepare("SELECT id FROM godwit_blocks")
    assert statement.step
    20.times { produce("x" * 500_000) }
    engine.file.checkpoint_now
    assert_equal 0, engine.file.instance_variable_get(:@written)
    statement.close
    assert_equal 21, client.each("t").count
  end

  test "no statement is unfinished while a program's block runs: the WAL can begin anew" do
    declare
    produce("a", "b")
    reads = client.each("t") # an Enumerator: `next` runs `each` in a Fiber
    reads.next
    client.each("t") { assert_equal 0, raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] }
    assert_equal "b", reads.next.raw
    statement = raw.prepare("SELECT id FROM godwit_blocks")
    assert statement.step
    another = SQLite3::Database.new(path)
    produce("c")
    assert_equal 1, another.execute("PRAGMA wal_checkpoint(TRUNCATE)")[0][0], "beside a reader"
    statement.close
  end

  test "the version changes with each write, of this connection or another" do
    others
    declare
    versions = [nil, -> { produce("a") }, method(:write_elsewhere)].map do |write|
      write&.call
      engine.version
    end
    assert_equal [versions.last, 3], [engine.version, versions.uniq.size]
  end

  test "a consumer on a full disk goes on when there is room, and repeats no record" do
    declare
    declare("out")
    errors, seen = events(:error), []
    produce(*"0".."49")
    database.rows("PRAGMA max_page_count=#{database.value("PRAGMA page_count")}")
    all_written = lambda do
      database.rows("PRAGMA max_page_count=1000000") if errors.any?
      values("out").size == 50
    end
    consume(all_written) do |message|
      seen << message.raw
      produce("out", message.raw + " " * 20_000)
    end
    error = errors.first[:error]
    assert_match(/#{path}: .*the disk is full: free some space/, error.message)
    assert_equal [Work::FullError, true, false], [error.class, error.retriable?, error.fatal?]
    assert_equal [[*"0".."49"]] * 2, [seen, values("out").map(&:strip)]
  end

  test "only SQLite opens the file: to close another descriptor of it would drop the locks" do
    calls = {
      produce: -> { declare && produce("a") },
      each: -> { client.each("t").to_a },
      run: -> { consume(-> { client.groups.any? { |one| one.lag.zero? } }) { nil } },
      seek: -> { client.seek("g", "t", to: :earliest) },
      retain: -> { engine.retain },
      checkpoint: -> { engine.file.checkpoint_now },
      another: -> { sqlite.close },
      fork: -> { Process.wait(fork { exit!(client.each("t").count) }) }
    }
    engine
    calls.each do |name, call|
      call.call
      refute_empty locks, name
    end
    File.open(path, &:close)
    assert_empty locks
  end

  test "the clock jumps back: consumers and retention go by offsets" do
    topic = declare(retain: 1_000)
    time = engine.now
    {"0" => 0, "1" => -500_000, "2" => 10, "3" => -2_000}.each do |value, jump|
      engine.stub(:now, time + jump) { produce(value) }
    end
    seen = []
    consume(-> { seen.size == 4 }) { |message| seen << message.raw }
    assert_equal [*"0".."3"], seen
    engine.stub(:now, time - 1_000_000) { engine.retain }
    assert_equal [0, 4], engine.bounds(topic)[0]
  end

  test "produce in a trap block names the fix, and writes nothing" do
    result = assert_child(start_child(<<~RUBY, [path]).finish)
      require "godwit/work"
      Godwit::Work.connect("sqlite:\#{ARGV[0]}")
      Godwit::Work.topic("t", partitions: 1)
      calls = {"USR1" => -> { Godwit::Work.produce("t", "known") },
               "USR2" => -> { Godwit::Work.topic("new") }}
      said = []
      calls.each do |signal, call|
        trap(signal) do
          call.call
          said << "no error"
        rescue Godwit::StateError => error
          said << error.message
        end
      end
      Godwit::Work.produce("t", 1)
      calls.each_key do |signal|
        count = said.size
        Process.kill(signal, Process.pid)
        Thread.pass until said.size > count
      end
      Godwit::Work.produce("t", 2)
      puts said, Godwit::Work.each("t").map(&:value).inspect
    RUBY
    *said, values = result.stdout.lines(chomp: true)
    assert_equal ["[1, 2]", 2], [values, said.size]
    said.each { |text| assert_match(/no lock in a trap block: give this .* to a Thread/, text) }
  end
end
