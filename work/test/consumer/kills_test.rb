# frozen_string_literal: true

require "work_helper"
require "support/noted_runs"

# Consumers and producers that are killed or stopped at random, and consumers that kill themselves
# before or after a statement that writes. At the end each record has counted exactly once.
class WorkKillsTest < Godwit::WorkCase
  include NotedRuns

  deadline 300
  Work = Godwit::Work
  SECONDS = Godwit::TestSupport::Length.of(4, long: 60)
  PROCESSES = 3
  # Ruby of a child that kills itself before or after an SQL statement that writes. The third
  # argument of the child is the number of this statement.
  KILLS_ITSELF = <<~'RUBY'
    module KillsItself
      READS = /\A\s*(?:SELECT|PRAGMA (?!wal_checkpoint))/i
      REMAINING = [ARGV[2].to_i]

      def step
        KillsItself.count(sql)
        super
      end

      def reset! = super.tap { KillsItself.count(sql) }

      def self.count(sql)
        Process.kill(:KILL, Process.pid) if !READS.match?(sql) && (REMAINING[0] -= 1).zero?
      end
    end
    SQLite3::Statement.prepend(KillsItself)
  RUBY
  # A consumer that pays each record's cents once: odd cents by an output, even cents by a
  # transaction, or on Kafka also by an output. It notes each run, and the process of the run.
  CONSUMES = <<~RUBY
    require "godwit/work"
    #{CONNECT}
    class Payments < Godwit::Work::Consumer
      NOTES = File.open(ARGV[1], "a")
      topic "payments", partitions: 4
      parallel by: :key

      def perform(message)
        words = [Process.pid, message.key, message.partition, message.offset, message.attempt]
        NOTES.syswrite("\#{words.join(" ")}\\n")
        cents = message.value[:cents]
        return produce("paid", cents) if cents.odd? || #{KafkaLog::ON}
        transaction { |db| db.execute("UPDATE accounts SET cents = cents + ?", cents) }
      end
    end
    #{KILLS_ITSELF unless KafkaLog::ON}
    runner = Godwit::Work::Runner.new([Payments], workers: 3)
    Signal.trap(:TERM) { Thread.new { runner.stop } }
    puts "ready"
    runner.run
  RUBY
  # A producer that notes acknowledged records in a file, since the test does not read its stdout.
  PRODUCES = <<~RUBY
    require "godwit/work"
    #{CONNECT}
    acknowledged = File.open(ARGV[1], "a")
    (1..).each do |cents|
      receipt = Godwit::Work.produce("payments", {cents: cents}, key: (cents % 9).to_s)
      acknowledged.syswrite("\#{receipt.partition}/\#{receipt.offset}\\n")
      sleep 0.002 # the consumers shall be as fast as the producer
    end
  RUBY
  def file(name) = File.join(scratch_dir, name)
  def from = "payments"
  def group = "payments"
  def client = @client ||= own(Work::Client.new(shared_engine))
  def start(program, notes, *more) = start_child(program, [url, file(notes), *more], deadline: 280)
  def produce = @producer = start(PRODUCES, "acknowledged")
  def consume = @consumers << start(CONSUMES, "notes")
  def done = committed.each_value.sum(&:watermark)

  # Starts one more consumer, which kills itself at its SQL statement number `number`.
  def kill_at_statement(number)
    look
    child = start(CONSUMES, "notes", number)
    assert_equal 9, child.finish.status.termsig, child.finish.to_s
    @killed << child.pid
  end

  # Kills processes at the same time, and starts new processes in their place.
  def kill(*consumers, producer: nil)
    look
    children = [*consumers, *producer]
    children.each { |child| child.signal(:KILL) }
    children.each(&:finish)
    @killed.concat(consumers.map(&:pid))
    @consumers -= consumers
    consumers.size.times { consume }
    produce if producer
  end

  # Stops a consumer by TERM: it finishes its running records, so none of them may run again. The
  # test waits for "ready", since Ruby loses some signals that come while Ruby starts.
  def stop(consumer)
    assert_child consumer.wait_for(/^ready$/).signal(:TERM).finish
    @consumers -= [consumer]
    consume
  end

  # A committed record never runs again. An uncommitted record runs again only when its process was
  # killed, or when the record had failed.
  def assert_repeats_were_unfinished
    assert_empty again
    runs.group_by(&:place).each_value do |same|
      same.each_cons(2) do |one, next_one|
        assert @killed.include?(one.pid) || next_one.number > one.number, same.inspect
      end
    end
  end

  test "each acknowledged record counts once, whatever is killed" do
    random = Random.new(Minitest.seed)
    client.topic("payments", partitions: 4)
    client.topic("paid")
    open_accounts unless KafkaLog::ON
    File.write(file("notes"), "")
    @consumers, @killed = [], []
    PROCESSES.times { consume }
    produce
    finish = monotonic + SECONDS
    while monotonic < finish || @killed.empty?
      before = done
      eventually { done > before + random.rand(50) }
      case random.rand(KafkaLog::ON ? 4 : 6)
      when 0 then kill(producer: @producer)
      when 1 then kill(*@consumers, producer: @producer)
      when 2 then stop(@consumers.sample(random: random))
      when 3 then kill(@consumers.sample(random: random))
      else kill_at_statement(random.rand(1..100))
      end
    end
    kill_at_statement(random.rand(1..100)) unless KafkaLog::ON
    @producer.signal(:KILL).finish
    sent = client.each("payments").to_h do |message|
      [[message.partition, message.offset], message.value[:cents]]
    end
    acknowledged = File.readlines(file("acknowledged"))
    assert_empty acknowledged.map { |line| line.split("/").map(&:to_i) } - sent.keys
    eventually(deadline: 60) { done == sent.size }
    assert_repeats_were_unfinished
    assert_order(runs)
    # A record that ran alone when its process was killed for the third time becomes a dead letter.
    dead = client.each("payments.dead").map do |letter|
      letter.headers.to_h.values_at("godwit-partition", "godwit-offset").map(&:to_i)
    end
    assert_empty sent.keys - runs.map(&:place) - dead
    @consumers.each { |consumer| consumer.signal(:KILL).finish }
    assert_paid(sent.except(*dead).values)
  end

  def open_accounts
    @table = SQLite3::Database.new(url.delete_prefix("sqlite:"))
    @table.busy_handler_timeout = 10_000
    @table.execute("CREATE TABLE accounts (cents INTEGER)")
    @table.execute("INSERT INTO accounts VALUES (0)")
  end

  # @param cents [Array<Integer>] the cents of all records
  def assert_paid(cents)
    KafkaLog.await_transactions if KafkaLog::ON
    odd, even = cents.partition { |one| one.odd? || KafkaLog::ON }
    assert_equal odd.sort, client.each("paid").map(&:value).sort
    return if KafkaLog::ON
    assert_equal even.sum, @table.execute("SELECT cents FROM accounts")[0][0]
    assert_equal [["ok"]], @table.execute("PRAGMA integrity_check")
  end
end
