# frozen_string_literal: true

require_relative "engines"

# The log in a file: several processes, forks, kills, and files that the engine rejects.
class WorkFileTest < Godwit::WorkCase
  include Engines

  def setup
    super
    not_on :kafka, "there is no file of the log"
  end

  Work = Godwit::Work
  Database = Work.const_get(:Database)
  # Ruby of a child: connects to the file ARGV[0], and declares the topic "t".
  CONNECTED = <<~RUBY
    require "godwit/work"
    Godwit::Work.connect("sqlite:\#{ARGV[0]}")
    Godwit::Work.topic("t", partitions: 1)
  RUBY

  # @return [Object] SQLite's own connection to the test's file
  def raw = @raw ||= SQLite3::Database.new(path)

  def assert_integrity = assert_equal([["ok"]], raw.execute("PRAGMA integrity_check"))

  # @return [String] the output of a Ruby program whose ARGV[0] is the path of the file
  def output(program)
    result = assert_child(start_child(program, [path]).finish)
    assert_empty result.stderr
    result.stdout
  end

  def declare = client.topic("t", partitions: 1, format: :raw)
  def produced(value) = client.produce("t", value, key: "k").offset

  test "processes that start at once make one file, and write to it together" do
    children = Array.new(4) do |number|
      start_child(<<~RUBY, [path, number])
        puts "ready"
        $stdout.flush
        $stdin.gets
        #{CONNECTED}
        100.times { |index| Godwit::Work.produce("t", [ARGV[1].to_i, index], key: "k") }
      RUBY
    end
    children.each { |child| child.wait_for(/^ready$/) }
    children.each { |child| child.stdin.puts("go") }
    children.each { |child| assert_child(child.finish) }
    assert_equal [0, 1, 2, 3].to_h { |number| [number, (0...100).map { |index| [number, index] }] },
      client.each("t").map(&:value).group_by(&:first)
    assert_integrity
  end

  test "a forked child goes on, whatever its parent was doing" do
    assert_equal "[0, 0, 0, 0, 0]\n100\n", output(<<~RUBY)
      #{CONNECTED}
      Godwit::Work.produce("t", "parent", key: "k")
      writer = Thread.new { loop { Godwit::Work.produce("t", "thread", key: "k") } }
      pids = Array.new(5) do
        fork do
          20.times { Godwit::Work.produce("t", "child", key: "k") }
          exit!(Godwit::Work.each("t").first.value == "parent" ? 0 : 1)
        end
      end
      statuses = pids.map { |pid| Process.wait2(pid).last.exitstatus }
      writer.kill.join
      Godwit::Work.produce("t", "parent", key: "k")
      p statuses, Godwit::Work.each("t").count { |message| message.value == "child" }
    RUBY
    assert_integrity
  end

  test "a process that becomes a daemon, or cannot, loses nothing when others use the file" do
    assert_equal "[1, 2]\n", output(<<~RUBY)
      require "godwit/work"
      REFUSALS = [Errno::EAGAIN]
      Process.singleton_class.prepend(Module.new do
        def daemon(...) = REFUSALS.any? ? raise(REFUSALS.pop) : super
      end)
      read, orders = IO.pipe
      answers, write = IO.pipe
      fork do
        #{CONNECTED}
        begin
          Process.daemon(true, true)
        rescue Errno::EAGAIN
          Godwit::Work.produce("t", 0, key: "k")
        end
        orders.close
        Process.daemon(true, true)
        write.puts Godwit::Work.produce("t", read.gets.to_i, key: "k").offset until read.eof?
        write.puts "end"
      end
      Process.wait
      written = [1, 2].map do |number|
        orders.puts number
        offset = answers.gets.to_i
        Process.wait(fork do
          Godwit::Work.connect("sqlite:\#{ARGV[0]}")
          Godwit::Work.client.close
        end)
        offset
      end
      orders.close
      answers.gets
      p written
    RUBY
    assert_equal [0, 1, 2], client.each("t").map(&:value)
    assert_integrity
  end

  test "the memory of a log does not survive a fork" do
    says = "the memory of a log is in another process: make a log after the fork\n0\n"
    assert_equal says, output(<<~RUBY)
      require "godwit/work"
      Godwit::Work.connect("sqlite::memory:")
      Godwit::Work.topic("t")
      pid = fork do
        Godwit::Work.produce("t", 1)
      rescue Godwit::Work::ClosedError => error
        puts error.message
      end
      Process.wait(pid)
      puts Godwit::Work.produce("t", 1).offset
    RUBY
  end

  test "settings of the file, beside an application's tables and page size" do
    raw.execute("PRAGMA page_size=8192")
    raw.execute("CREATE TABLE accounts (id INTEGER)")
    declare
    assert_equal 0, produced("a")
    {"synchronous" => 1, "wal_autocheckpoint" => 0, "secure_delete" => 0, "mmap_size" => 0}
      .each { |name, value| assert_equal value, engine.file.database.value("PRAGMA #{name}"), name }
    power = own(sqlite(durability: :power)).file.database
    assert_equal 2, power.value("PRAGMA synchronous")
    tables = raw.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").flatten
    assert_equal %w[accounts], tables.grep_v(/\Agodwit_/)
    assert_empty raw.execute("SELECT * FROM accounts")
    assert_equal ["wal", 8192],
      %w[journal_mode page_size].map { |name| raw.execute("PRAGMA #{name}")[0][0] }
  end

  test "checkpoints keep the WAL small" do
    declare
    40.times { produced("x" * 500_000) }
    assert_operator File.size("#{path}-wal"), :<, 12 << 20
    assert_operator File.size(path), :>, 10 << 20
    assert_equal 40, client.each("t").count
  end

  test "a file that another program has locked" do
    declare
    engine.file.database.instance_variable_get(:@database).busy_handler_timeout = 10
    raw.execute("BEGIN IMMEDIATE")
    error = assert_raises(Work::LockedError) { produced("a") }
    assert_match(/another process wrote for more than 5 s/, error.message)
    assert_predicate error, :retriable?
    raw.execute("ROLLBACK")
    assert_equal 0, produced("a")
  end

  test "calls that wait in several threads share one transaction" do
    declare
    records = engine.instance_variable_get(:@opened).records
    transactions = 0
    engine.file.database.define_singleton_method(:transaction) do |&block|
      super(&block).tap { transactions += 1 }
    end
    raw.execute("BEGIN IMMEDIATE")
    first = in_thread { produced("0") }
    eventually { engine.file.instance_variable_get(:@lock).locked? }
    others = Array.new(8) { |index| in_thread { produced(index.to_s) } }
    eventually { records.instance_variable_get(:@queue).instance_variable_get(:@waiting).size == 8 }
    raw.execute("COMMIT")
    offsets = [first, *others].map { |thread| ended(thread) }
    assert_equal [(0..8).to_a, 1], [offsets.sort, transactions]
  end

  test "a process that has the file at another path sees the members, and wakes them" do
    member = own(engine.listen)
    engine.join("g", declare, member.path, [0])
    engine.close
    there = "#{scratch_dir}-there"
    File.rename(scratch_dir, there) # as if another container mounted the volume there
    other = own(Godwit::Work.const_get(:SqliteEngine).new(File.join(there, "work.db")))
    assert_equal [true], other.members.map(&:alive)
    Work::Client.new(other).produce("t", "a")
    assert member.io.wait_readable(5)
  ensure
    File.rename(there, scratch_dir)
  end

  test "files that cannot be used" do
    other = File.join(scratch_dir, "other")
    File.write(other, "no database " * 1_000)
    folder = File.join(scratch_dir, "missing", "work.db")
    {other => [Work::CorruptError, /this is no SQLite file: name another/],
     folder => [Work::AccessError, /create its folder/],
     scratch_dir => [Work::AccessError, /cannot open it/]}.each do |place, (klass, says)|
      error = assert_raises(klass, place) { Work.connect("sqlite:#{place}") }
      assert_match says, error.message
      assert_equal 1, error.message.lines.size
      assert_includes error.message, place
      assert_predicate error, :fatal?
      assert_kind_of Godwit::Error, error
    end
    assert_equal "no database " * 1_000, File.read(other)
  end

  test "a file and a folder that this user may not write" do
    declare
    produced("a")
    engine.close
    File.chmod(0o444, path)
    File.chmod(0o555, scratch_dir)
    output = output(<<~RUBY)
      require "godwit/work"
      Godwit::Work.connect("sqlite::memory:").topics # loads the code before setuid
      Process::Sys.setuid(65_534) if Process.uid.zero?
      begin
        Godwit::Work.connect("sqlite:\#{ARGV[0]}")
        Godwit::Work.produce("t", "b")
      rescue Godwit::Work::AccessError => error
        puts error.message
      end
    RUBY
    assert_match(/\A#{path}: .*: it is read-only: let this user write the file and its folder$/m,
      output)
  ensure
    File.chmod(0o755, scratch_dir)
  end

  test "tables of another version, or none" do
    engine
    {2 => /tables have version 2, .* knows 1: update godwit-work/,
     0 => /tables have version 0, .* knows 1: use an older godwit-work/}.each do |version, says|
      raw.execute("UPDATE godwit_meta SET value = ?", version)
      assert_refused(Work::CorruptError, -> { sqlite } => says)
    end
    raw.execute("DROP TABLE godwit_positions")
    assert_refused(Work::DatabaseError,
      -> { client.groups } => /no such table: .*restore it from a backup/)
  end

  test "a thread that is killed while it produces leaves no transaction open" do
    topic = declare
    20.times do
      thread = in_thread { loop { produced("a") } }
      eventually { engine.bounds(topic)[0].last > 0 }
      thread.kill
      ended(thread)
    end
    assert_operator produced("a"), :>, 0
    refute_predicate engine.file.database, :transaction?
  end
end
