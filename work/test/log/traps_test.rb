# frozen_string_literal: true

require_relative "engines"

# SQLite's traps. Others are in file_test.rb: the
# settings, forks, full disks, files that cannot be used; in wake_up_test.rb: FIFOs.
class WorkTrapsTest < Godwit::WorkCase
  include Engines::Tools

  def setup
    super
    not_on :kafka, "it is about SQLite and its file"
  end

  Work = Godwit::Work

  def engine = @engine ||= own(sqlite)
  def database = engine.file.database

  # @return [Object] SQLite's own connection to the test's file, which waits for no lock
  def raw = @raw ||= SQLite3::Database.new(path)

  def write_elsewhere = raw.execute("INSERT INTO others VALUES (1)")

  def others
    engine
    raw.execute("CREATE TABLE others (id INTEGER)")
  end

  # @return [Array<String>] this process's locks on the file itself
  def locks
    inode = File.stat(path).ino
    File.readlines("/proc/locks").grep(/ #{Process.pid} \h+:\h+:#{inode} /)
  end

  # @return [Class] a consumer of the topic "t"
  def consumer(&block)
    Class.new(Work::Consumer) do
      topic "t", partitions: 1, format: :raw
      group "g"
      retries 2, backoff: 0..0
      define_method(:perform, &block)
    end
  end

  # Runs the consumer until the block is true.
  def run_until(klass, &done)
    runner = Work::Runner.new([klass], client: client)
    thread = in_thread { runner.run }
    eventually(&done)
    runner.stop
    ended(thread)
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

  test "other threads run while a writer waits for another process's transaction" do
    client.topic("t", partitions: 1)
    raw.execute("BEGIN IMMEDIATE")
    waiting = in_thread { client.produce("t", 1) }
    eventually { engine.file.instance_variable_get(:@lock).locked? }
    steps = 0
    steps += 1 while steps < 1_000 && waiting.alive?
    assert_equal 1_000, steps
    raw.execute("COMMIT")
    assert_equal 0, ended(waiting).offset
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
    engine.file.checkpoint_now
    [:@database, :@checkpointer].each do |name|
      connection = engine.file.instance_variable_get(name)
      assert_equal 0, connection.value("PRAGMA wal_autocheckpoint"), name
    end
  end

  test "a checkpoint does not wait for a reader" do
    client.topic("t", partitions: 1, format: :raw)
    client.produce("t", "a")
    statement = raw.prepare("SELECT id FROM godwit_blocks")
    assert statement.step
    20.times { client.produce("t", "x" * 500_000) }
    engine.file.checkpoint_now
    assert_equal 0, engine.file.instance_variable_get(:@written)
    statement.close
    assert_equal 21, client.each("t").count
  end

  test "no statement is unfinished while a program's block runs: the WAL can begin anew" do
    client.topic("t", partitions: 1, format: :raw)
    client.produce_many("t", [["a"], ["b"]])
    reads = client.each("t") # its block runs in a Fiber
    reads.next
    client.each("t") { assert_equal 0, raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] }
    assert_equal "b", reads.next.raw
    statement = raw.prepare("SELECT id FROM godwit_blocks")
    assert statement.step
    another = SQLite3::Database.new(path)
    client.produce("t", "c")
    assert_equal 1, another.execute("PRAGMA wal_checkpoint(TRUNCATE)")[0][0], "beside a reader"
    statement.close
  end

  test "the version also changes when an application writes to the file by another connection" do
    others
    before = engine.version
    write_elsewhere
    refute_equal before, engine.version
  end

  test "a consumer on a full disk goes on when there is room, and repeats no record" do
    client.topic("t", partitions: 1, format: :raw)
    client.topic("out", partitions: 1, format: :raw)
    errors = []
    client.on(:error) { |event| errors << event[:error] }
    seen = []
    client.produce_many("t", Array.new(50) { |index| [index.to_s, "k"] })
    database.rows("PRAGMA max_page_count=#{database.value("PRAGMA page_count")}")
    one = client
    run_until(consumer { |message|
      seen << message.raw
      produce("out", message.raw + " " * 20_000)
    }) do
      database.rows("PRAGMA max_page_count=1000000") if errors.any?
      one.each("out").count == 50
    end
    assert_kind_of Work::FullError, errors.first
    assert_equal (0...50).map(&:to_s), seen
    assert_equal seen, client.each("out").map { |message| message.raw.strip }
  end

  test "only SQLite opens the file: to close another descriptor of it would drop the locks" do
    calls = {
      produce: -> { client.topic("t", partitions: 1, format: :raw) && client.produce("t", "a") },
      each: -> { client.each("t").to_a },
      run: -> { run_until(consumer { nil }) { client.groups.any? { |one| one.lag.zero? } } },
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
    client.topic("t", partitions: 1, format: :raw, retain: 1_000)
    time = engine.now
    [0, -500_000, 10, -2_000].each_with_index do |jump, index|
      engine.stub(:now, time + jump) { client.produce("t", index.to_s) }
    end
    seen = []
    run_until(consumer { |message| seen << message.raw }) { seen.size == 4 }
    assert_equal %w[0 1 2 3], seen
    engine.stub(:now, time - 1_000_000) { engine.retain }
    assert_equal [0, 4], engine.bounds(engine.topics["t"])[0]
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
