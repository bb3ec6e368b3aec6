# frozen_string_literal: true

require "work_helper"
require "json"
require "pty"
require "sqlite3"

# Tests each command of `godwit-work` on the log of an application.
class WorkCommandsTest < Godwit::WorkCase
  APP = <<~RUBY
    require "godwit/work"

    class Payments < Godwit::Work::Consumer
      topic "payments", partitions: 2

      def perform(message)
        puts "handles \#{message.value}"
        $stdout.flush
        sleep if message.value == "hang"
        puts "has handled \#{message.value}" if message.value == "slow" && $stdin.gets
        $stdout.flush
      end
    end
  RUBY

  def setup
    super
    KafkaLog.clean if KafkaLog::ON
  end

  # @return [Godwit::Work::Client] of the test's log
  def connected = Godwit::Work::Client.new(Godwit::Work.const_get(:Connection).open(url))

  def godwit_work(*words)
    start_command([*GODWIT_WORK, *words], env: {"GODWIT_WORK_URL" => url})
  end

  def assert_told(status, says, *words, **rest)
    found, output, errors = told(*words, **rest)
    assert_equal [status, ""], [found, output], words.inspect
    Array(says).each { |text| assert_includes errors, text }
  end

  # @return [Hash, nil] the first row that the command lists
  def listed(*words) = well(*words, "--json").lines.first&.then { JSON.parse(_1) }

  def path = File.join(scratch_dir, "work.db")
  def app(text = APP) = File.join(scratch_dir, "app.rb").tap { |file| File.write(file, text) }

  def run_app(text = APP)
    godwit_work("run", app(text), "--workers", "2").wait_for(/^runs Payments$/)
  end

  def produce(*values, partitions: 2)
    client = connected
    client.topic("payments", partitions: partitions)
    client.produce_many("payments", values.map { |value| [value, "k"] })
  ensure
    client&.close
  end

  test "run handles records until a signal; --rebalance-log notes what comes or goes" do
    path = File.join(scratch_dir, "rebalance.log")
    child = godwit_work("run", app, "--rebalance-log", path).wait_for(/^runs Payments$/)
    produce("a")
    result = child.wait_for(/^handles a$/).signal(:INT).finish
    assert_equal [130, ""], [result.status.exitstatus, result.stderr]
    lines = File.readlines(path, chomp: true)
    form = /\A\d{4}-\d\d-\d\dT\S+Z \d+ (\w+) payments payments (\d) at (\d+)\z/
    moves = lines.map { |line| line.match(form)&.captures }
    assert_equal %w[assigned released].product(%w[0 1]), moves.map { |move| move.first(2) }.sort
    assert_equal %w[0 1], moves.select { |what, *| what == "released" }.map(&:last).sort
    result = godwit_work("run", app, "--rebalance-log", "/no/such/folder/log").finish
    assert_match(%r{No such file or directory.*/no/such/folder/log}, result.stderr)
  end

  test "a running handler finishes; a second signal ends the process" do
    child = run_app
    produce("slow", "never")
    child.wait_for(/^handles slow$/).signal(:TERM)
    child.wait_for(/^stops when/).stdin.puts("go on")
    result = assert_child(child.finish)
    assert_match(/^has handled slow$/, result.stdout)
    refute_match(/never/, result.stdout)
    produce("hang")
    child = run_app
    child.wait_for(/^handles hang$/).signal(:TERM).wait_for(/^stops when/).signal(:INT)
    assert_equal 1, child.finish.status.exitstatus
  end

  test "on a terminal run prints rates and lag" do
    seldom_on_kafka
    terminal, slave = PTY.open.each { |io| own(io) }
    handler = "def perform(message)"
    file = app(APP.sub(handler,
      "retries 1, backoff: 300..300\n  #{handler}\n    raise if message.value == \"bad\""))
    env = {**Godwit::TestSupport::Children::NO_BUNDLER, "GODWIT_WORK_URL" => url}
    pid = spawn(env, *GODWIT_WORK, "run", file, out: slave, err: slave)
    seen = +""
    read = ->(wanted) do
      until seen.match?(wanted)
        assert terminal.wait_readable(20), seen
        seen << terminal.readpartial(4_096)
      end
    end
    read.call(%r{0 records/s, 0 failed/s, lag 0\e\[K\r})
    produce("a", "b", "bad")
    read.call(%r{[12] records/s, \d failed/s, lag \d\e\[K\r.*0 failed/s, lag 1\e\[K\r}m)
    Process.kill(:TERM, pid)
    assert_predicate Process.wait2(pid).last, :success?, seen
    pid = nil
  ensure
    Process.kill(:KILL, pid) && Process.wait(pid) if pid
  end

  test "topics, tail and produce" do
    produce({"id" => 1})
    well("produce", "payments", "--key", "k", input: "{\"id\":2}\n5\n")
    assert_equal "{\"id\":1}\n{\"id\":2}\n5\n", well("tail", "payments")
    assert_equal "5\n", well("tail", "payments", "--from", "-1")
    table = well("topics")
    assert_equal "topic     partitions  format  records\npayments  2           json    3\n", table
    row = listed("topics")
    assert_equal(["payments", 2, "json", 3], row.values)
    assert_equal(%w[topic partitions format records], row.keys)
    follower = godwit_work("tail", "payments", "--follow", "--from", "0").wait_for(/^5$/)
    produce("later")
    follower.wait_for(/^"later"$/)
    assert_equal 130, follower.signal(:INT).finish.status.exitstatus
  end

  test "tail --from takes what seek --to takes" do
    seldom_on_kafka
    produce(1, 2)
    {"0" => "1\n2\n", "1" => "2\n", "-1" => "2\n", "earliest" => "1\n2\n", "latest" => "",
     "2026-11-20T10:00" => "1\n2\n", "2026-11-20" => "1\n2\n",
     "9999-01-01 00:00:00Z" => ""}.each do |from, lines|
      assert_equal lines, well("tail", "payments", "--from", from), from
    end
    assert_told 2, "--from yesterday: an offset", "tail", "payments", "--from", "yesterday"
  end

  test "only run creates a log; the error of other commands says where to look" do
    not_on :kafka, "a cluster is there before: Work creates topics in it, and no log"
    [%w[topics], %w[groups --members], %w[lag], %w[dead], %w[tail t], %w[produce t],
      %w[seek g t --to 0], %w[pause g t], %w[resume g t], %w[evict 1],
      %w[requeue t --offset 0/0]].each do |words|
      assert_told 1, "no log in #{path}: look at GODWIT_WORK_URL", *words
    end
    refute_path_exists path
    foreign = SQLite3::Database.new(path)
    foreign.execute("CREATE TABLE other (id)")
    foreign.close
    before = File.binread(path)
    assert_equal 1, told("topics").first
    assert_equal before, File.binread(path)
  end

  test "groups, lag, dead, seek, pause, resume and requeue" do
    failing = APP.sub("puts \"handles",
      "raise \"no\" if message.value == \"bad\"\n    puts \"handles")
    app = app(failing.sub("partitions: 2", "partitions: 1\n  retries 0"))
    child = godwit_work("run", app).wait_for(/^runs Payments$/)
    produce("a", "bad", partitions: 1)
    child.wait_for(/^handles a$/)
    eventually { well("lag").match?(/^payments +payments +0 +2 +2 +0 +\h+$/) }
    assert_match(/^payments +payments +1 +0 +false$/, well("groups"))
    dead = listed("dead", "payments.dead")
    assert_equal ["payments.dead", "k", 1, "payments", "RuntimeError: no"],
      dead.values_at("topic", "key", "attempts", "group", "error")
    assert_equal dead, listed("dead")
    well("pause", "payments", "payments")
    assert_match(/true$/, well("groups"))
    well("seek", "payments", "payments", "--to", "earliest")
    well("resume", "payments", "payments")
    child.wait_for(/^handles a\nhandles a$/)
    well("requeue", "payments.dead", "--offset", dead["offset"])
    eventually { listed("groups")["lag"].zero? }
    member = listed("groups", "--members")
    assert_equal ["payments", "payments", 1, child.pid],
      member.values_at("group", "topic", "partitions", "pid")
    assert_child child.signal(:TERM).finish
    well("grow", "payments", "3")
    assert_match(/^payments +3 /, well("topics"))
    {
      %w[grow payments many] => "\"many\" is no number of partitions",
      %w[seek payments payments] => "--to",
      %w[seek payments payments --to x] => "--to x: an offset",
      %w[seek payments payments --to 0 --partition 7] => "partition: takes an Integer, 0 to 2",
      %w[seek payments payments --to 2026-13-01] => "or a time such as",
      %w[seek payments] => "which topic?", %w[seek payments y --to 0] => "no topic \"y\"",
      %w[pause x payments] => "group \"x\" has never read topic \"payments\"",
      %w[requeue payments.dead --offset 3] => "3/17",
      %w[requeue payments --offset 0/0] => "no dead letter at 0/0 of topic \"payments\"",
      %w[requeue payments --offset 7/0] => "no dead letter at 7/0",
      %w[dead payments] => "topic payments has records, and no dead letters",
      %w[dead x] => "no topic"
    }.each { |words, says| assert_told 2, says, *words }
  end

  STORAGE = KafkaLog::ON ? /^brokers: 127.*, librdkafka: 2.*, topics: 2$/ :
    /^path: \/.*work.db, bytes: \d+, wal_bytes: \d+, sqlite: 3\.\d+\.\d+$/

  test "doctor shows stuck handlers of other processes" do
    produce("slow")
    child = godwit_work("run", app(APP.sub("partitions: 2", "partitions: 2\n  stuck_after 0.01")))
    child.wait_for(/^handles slow$/)
    status = output = errors = nil
    eventually {
      status, output, errors = told("doctor")
      output.include?("stuck")
    }
    assert_equal [1, ""], [status, errors]
    assert_match(STORAGE, output)
    assert_match(/^stuck: process #{child.pid}, /, output)
    assert_match(/^  .*app.rb:11:in [`'](?:Payments#)?perform'$/, output)
    child.signal(:TERM).wait_for(/^stops when/).stdin.puts("go on")
    assert_child(child.finish)
    assert_equal "all is well\n", well("doctor").lines.last
  end

  test "doctor shows dead processes, whose members evict removes" do
    not_on :kafka, "the brokers forget a member that has died after its session"
    produce("hang")
    child = run_app.wait_for(/^handles hang$/)
    child.signal(:KILL).finish
    doctor = -> { told("doctor", "--json", "--check")[1].lines.map { |line| JSON.parse(line) } }
    file, *rows = doctor.call
    assert_equal ["storage", path, File.size(path), File.size("#{path}-wal")], file.values.first(4)
    dead, without = rows
    member = dead["member"]
    assert_equal ["dead_member", "payments", "payments", member, child.pid, Socket.gethostname],
      dead.except("text").values
    assert_match(/ #{child.pid} on .*, member #{member} of group payments, has died: .*start one/,
      dead["text"])
    assert_equal ["no_member", 1], without.values_at("kind", "lag")
    assert_match(/1 unread records of topic payments and no member: start/, without["text"])
    well("evict", member.to_s)
    assert_empty Dir["#{path}.members/*"], "the FIFO of the dead process"
    assert_equal %w[storage no_member], doctor.call.map { |row| row["kind"] }
    {
      %w[evict 999] => "no member 999", %w[evict x] => "no member x: `godwit-work groups --members`"
    }.each { |words, says| assert_told 2, says, *words }
  end

  test "wrong command lines and inputs" do
    seldom_on_kafka
    produce("a")
    {
      %w[run] => "which file?",
      %w[run missing.rb] => "missing.rb: no such file",
      %w[tail] => "which topic?",
      %w[produce] => "which topic?", %w[tail paymnts] => "no topic \"paymnts\"",
      %w[produce paymnts] => "no topic \"paymnts\"; did you mean \"payments\"",
      %w[run app.rb --workers 0] => "--workers is 1 or more"
    }.each { |words, says| assert_told 2, says, *words }
    result = godwit_work("run", app("")).finish
    assert_equal [2, ""], [result.status.exitstatus, result.stdout]
    assert_includes result.stderr, "no class of Godwit::Work::Consumer"
  end

  test "produce names the bad line, and what was written" do
    seldom_on_kafka
    produce("a")
    {"1\n{\n" => ["line 2: this value is no JSON", "(no line was written)", 1],
     "1\n" * 1_500 + "{\n" => ["line 1501: ", "(lines 1 to 1000 were written)", 1_001],
     "\"#{"x" * (2 << 20)}\"" => ["line 1: the value has", "may have", 1_001]}
      .each do |input, (where, written, records)|
      assert_told 1, [where, written], "produce", "payments", input: input
      assert_equal records, listed("topics")["records"]
    end
  end

  HOSTILE = <<~'RUBY'
    require "godwit/work"

    class Payments < Godwit::Work::Consumer
      topic "payments", partitions: 2
      retries 0

      def assigned(_) = raise("x" * 3_000)

      def perform(message)
        error = RuntimeError.new("\e[31m\u202eevil\nmore")
        def error.message = nil if message.value == "without a message"
        raise error
      end
    end
  RUBY

  test "run says what fails, unless the program listens; no text controls the terminal" do
    seldom_on_kafka
    produce
    client = own(connected)
    key = "\e[31m\nforged"
    errors, listened = ["", "\nGodwit::Work.on(:failed, :dead) { nil }"].map do |listens|
      client.produce_many("payments", [["evil", key], ["without a message", key]])
      child = run_app(HOSTILE + listens)
      eventually { listed("groups")&.fetch("lag") == 0 }
      child.signal(:TERM).finish.stderr.dup.force_encoding("UTF-8").lines(chomp: true)
    end
    assert_empty listened.grep(/\A(?:failed|dead):/)
    assert_operator errors.map(&:size).max, :<=, 300
    assert_empty errors.grep(/\e|\u202e/)
    %w[failed dead].each do |event|
      place = %r{\A#{event}: payments ./\d, attempt 1: RuntimeError: }
      assert_equal 1, errors.grep(/#{place}\\e\[31m\\u202eevil, .*app\.rb:\d+:in /).size, event
      assert_equal 1, errors.grep(/#{place}, /).size, event
    end
    rows = well("dead").lines
    assert_equal 5, rows.size
    assert_match(/ \\e\[31m\\nforged .*RuntimeError: \\e\[31m\\u202eevil$/, rows[1])
    assert_equal key, listed("dead")["key"]
  end
end
