# frozen_string_literal: true

require "work_helper"

# Consumers and producers that are killed at random: afterwards the accounts balance exactly.
class WorkKillsTest < Godwit::WorkCase
  deadline 300
  KILLS = Godwit::TestSupport::Length.of(12, long: 200)
  PROCESSES = 3
  # Adds each record's cents to an account, once in a transaction and once as an output.
  CONSUMES = <<~RUBY
    require "godwit/work"
    Godwit::Work.connect("sqlite:\#{ARGV[0]}")
    class Payments < Godwit::Work::Consumer
      topic "payments", partitions: 4
      parallel by: :key

      def perform(message)
        cents = message.value[:cents]
        return produce("paid", cents) if cents.odd?
        transaction { |db| db.execute("UPDATE accounts SET cents = cents + ?", cents) }
      end
    end
    Godwit::Work::Runner.new([Payments], workers: 3).run
  RUBY
  # Prints what is acknowledged.
  PRODUCES = <<~RUBY
    require "godwit/work"
    Godwit::Work.connect("sqlite:\#{ARGV[0]}")
    $stdout.sync = true
    (1..).each do |cents|
      Godwit::Work.produce("payments", {cents: cents, from: Process.pid}, key: (cents % 9).to_s)
      puts cents
      sleep 0.002 # the consumers keep up
    end
  RUBY

  def path = File.join(scratch_dir, "work.db")

  test "each acknowledged record counts once, whatever is killed" do
    random = Random.new(Minitest.seed)
    client = own(Godwit::Work::Client.new(Godwit::Work.const_get(:SqliteEngine).new(path)))
    topic = client.topic("payments", partitions: 4)
    client.topic("paid")
    table = SQLite3::Database.new(path)
    table.busy_handler_timeout = 10_000
    table.execute("CREATE TABLE accounts (cents INTEGER)")
    table.execute("INSERT INTO accounts VALUES (0)")
    start = ->(program) { start_child(program, [path], deadline: 280) }
    consumers = Array.new(PROCESSES) { start.call(CONSUMES) }
    producer = start.call(PRODUCES).wait_for(/^20$/)
    acknowledged = 0
    KILLS.times do
      done = -> { client.engine.positions("payments", topic).sum(&:watermark) }
      before = done.call
      eventually { done.call > before + random.rand(50) }
      if random.rand(4).zero?
        acknowledged += producer.signal(:KILL).finish.stdout.lines.size
        producer = start.call(PRODUCES).wait_for(/^20$/)
      else
        victim = random.rand(PROCESSES)
        consumers[victim].signal(:KILL).finish
        consumers[victim] = start.call(CONSUMES)
      end
    end
    acknowledged += producer.signal(:KILL).finish.stdout.lines.size
    sent = client.each("payments").map { |message| message.value[:cents] }
    assert_operator sent.size, :>=, acknowledged
    eventually { client.engine.positions("payments", topic).sum(&:watermark) == sent.size }
    # A record that ran alone when its process was killed for the third time is a dead letter.
    client.each("payments.dead") { |message| sent.delete_at(sent.index(message.value[:cents])) }
    odd, even = sent.partition(&:odd?)
    assert_equal odd.sort, client.each("paid").map(&:value).sort
    assert_equal even.sum, table.execute("SELECT cents FROM accounts")[0][0]
    assert_equal [["ok"]], table.execute("PRAGMA integrity_check")
    consumers.each { |consumer| consumer.signal(:KILL).finish }
  end
end
