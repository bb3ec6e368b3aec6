# frozen_string_literal: true

# How many records a second does godwit-work write and handle, how soon, and in how much memory? See
# support/bench.rb for what narrows a run.
require_relative "support/work_runs"

RUNS = 5
QUICK = Bench.quick?
# Records of a run.
PRODUCED = QUICK ? 10_000 : 500_000
SINGLE = QUICK ? 800 : 20_000
CONSUMED = QUICK ? 20_000 : 1_000_000
PERFORMED = QUICK ? 20_000 : 300_000
CONSUMED_KAFKA = QUICK ? 2_000 : 200_000
JOBS = QUICK ? 2_000 : 20_000
DELAYED = QUICK ? 22 : 220
RATE = 20 # a second
WAITING = QUICK ? 20_000 : 2_000_000
SLOW_SECONDS = QUICK ? 0.5 : 3
QUEUE_THREADS = QUICK ? [16] : [1, 4, 16]

MANY = "Godwit, produce_many of 1,000"
MANY_KEYS = "the same with keys"
ONE = "Godwit, produce of one"
THREADS = "Godwit, produce of one, 16 threads"
ROWS = "INSERT, 1,000 a transaction"
ROWS_BOUND = "the same by bind_param, step, reset!"
ROWS_KEYS = "the same with a column of keys"
ROWS_ONE = "INSERT, one a transaction"
CONSUME = "Godwit, consume"
KARAFKA = "Karafka"
PERFORM = "Godwit, perform by key, 16 workers"
SIDEKIQ = "Sidekiq, 16 threads"
FULL = "#{WAITING} records wait"
EMPTY = "no record waits"
QUEUES = QUEUE_THREADS.to_h { |threads| ["a queue in rows, threads: #{threads}", threads] }.freeze

# label => [kind, how it writes, records]
PRODUCERS = {
  MANY => [:work, "many", PRODUCED], MANY_KEYS => [:work, "keys", PRODUCED],
  ROWS => [:rows, "many", PRODUCED], ROWS_BOUND => [:rows, "bound", PRODUCED],
  ROWS_KEYS => [:rows, "keys", PRODUCED], ONE => [:work, "one", SINGLE],
  THREADS => [:work, "threads", SINGLE], ROWS_ONE => [:rows, "one", SINGLE]
}.freeze

def in_folder = Dir.mktmpdir("godwit-bench") { |folder| yield File.join(folder, "work.db") }

def produce_contest(format)
  contest = Bench::Contest.new("work, produce, #{format}")
  PRODUCERS.each do |label, (kind, how, count)|
    next if format == "json" && ![MANY, ROWS].include?(label)
    contest.add(label, kind) do
      in_folder { |path| {rate: result(kind, :produce, path, how, count, format)["rate"]} }
    end
  end
  contest.run(Bench.runs(RUNS))
end

# Runs the block with the server of a contender that is there.
def with_server(kind, &block)
  if (Bench.kinds && !Bench.kinds.include?(kind)) || Bench::Contest.missing(kind)
    yield(nil)
  else
    Bench::WorkContenders.public_send((kind == :karafka) ? :kafka : :redis, &block)
  end
end

FORMATS = QUICK ? %w[raw] : %w[raw json]

# @return [Array(Hash, Hash, Hash)] results of raw and of JSON, and the absent contenders
def by_format(contest)
  results = contest.run(Bench.runs(RUNS))
  absent = contest.absent.transform_keys(&:first)
  %w[raw json].map { |format|
    results.select { |(_, name), _| name == format }.transform_keys(&:first)
  } << absent
end

# One partition for both. Each run has a new group, which begins at the first record.
def consume_contest(folder)
  contest = Bench::Contest.new("work, consume")
  with_server(:karafka) do |address|
    FORMATS.each do |format|
      path = "#{folder}/consume-#{format}.db"
      result(:work, :produce, path, "many", CONSUMED, format, 1)
      result(:karafka, :produce, address, CONSUMED_KAFKA, format) if address
      contest.add([CONSUME, format], :work) do
        handled(:work, path, "consume", CONSUMED, format, group)
      end
      contest.add([KARAFKA, format], :karafka) do
        handled(:karafka, address, CONSUMED_KAFKA, format, group)
      end
    end
    by_format(contest)
  end
end

def perform_contest(folder)
  contest = Bench::Contest.new("work, perform")
  with_server(:sidekiq) do |url|
    FORMATS.each do |format|
      path = "#{folder}/perform-#{format}.db"
      result(:work, :produce, path, "keys", PERFORMED, format)
      contest.add([PERFORM, format], :work) do
        handled(:work, path, "perform", PERFORMED, format, group)
      end
      contest.add([SIDEKIQ, format], :sidekiq) { handled(:sidekiq, url, "perform", JOBS, format) }
    end
    QUEUES.each do |label, threads|
      contest.add([label, "raw"], :rows) do
        in_folder { |rows| handled(:rows, rows, threads, JOBS) }
      end
    end
    by_format(contest)
  end
end

def delay_contest
  contest = Bench::Contest.new("work, latency")
  with_server(:sidekiq) do |url|
    contest.add(PERFORM, :work) do
      in_folder do |path|
        delays(:work, [path, "delays", DELAYED, "raw", group], path)
      end
    end
    contest.add(SIDEKIQ, :sidekiq) { delays(:sidekiq, [url, "delays", DELAYED, "raw"], url) }
    [contest.run(Bench.runs(RUNS)), contest.absent]
  end
end

def delays(kind, arguments, target)
  handled(kind, *arguments) do
    [*Bench::Programs.command(kind, :stamps), target, DELAYED, RATE]
  end
end

# Slow handlers, so that the records wait.
def memory_contest
  contest = Bench::Contest.new("work, memory")
  in_folder do |full|
    result(:work, :produce, full, "keys", WAITING, "raw")
    contest.add(FULL, :work) { handled(:work, full, "slow", SLOW_SECONDS, "raw", group) }
    contest.add(EMPTY, :work) do
      in_folder { |path| handled(:work, path, "slow", SLOW_SECONDS, "raw", group) }
    end
    contest.run(Bench.runs(RUNS))
  end
end

Bench.section("work", "Work: consumers on SQLite") do |section|
  Bench::WorkContenders.install unless QUICK
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs, medians; each contender runs in processes of its own.
    Values have 100 bytes, and each handler reads a byte of each. Godwit's format is `:raw`, but for
    the figures of JSON. "How Work is measured" below has the rest. Versions:
    #{Bench::WorkContenders.versions}.
  MARKDOWN

  section.heading "Produce"
  produced = produce_contest("raw")
  rates(section, produced)

  section.heading "Consume: an object per record, one partition"
  consumed, consumed_json, absent = Dir.mktmpdir("godwit-bench") do |folder|
    consume_contest(folder)
  end
  rates(section, consumed, absent)

  section.heading "Perform"
  performed, performed_json, absent = Dir.mktmpdir("godwit-bench") do |folder|
    perform_contest(folder)
  end
  rates(section, performed, absent)

  section.heading "Latency from produce to perform, #{RATE} records a second, two processes"
  delayed, absent = delay_contest
  delays_table(section, delayed, absent)

  section.heading "Memory of a consumer's process, 16 slow workers"
  memory = memory_contest
  section.table ["", "RSS, MiB", "highest, MiB"], memory.map { |label, figures|
    [label, number(figures[:rss], 1), number(figures[:peak], 1)]
  }

  section.heading "JSON"
  section.text "The same programs; each handler reads a field of the decoded value."
  rates(section, produce_contest("json").merge(consumed_json, performed_json))

  section.target "produce_many, of INSERTs in transactions of 1,000",
    ratio(produced, MANY, ROWS), at_least: 1.5, digits: 2
  section.target "the same, both with keys",
    ratio(produced, MANY_KEYS, ROWS_KEYS), at_least: 1.5, digits: 2
  section.target "produce, of an INSERT a transaction",
    ratio(produced, ONE, ROWS_ONE), at_least: 0.4, digits: 2
  section.target "the same from 16 threads",
    ratio(produced, THREADS, ROWS_ONE), at_least: 0.8, digits: 2
  section.target "consume, of Karafka", ratio(consumed, CONSUME, KARAFKA), at_least: 15, digits: 1
  section.target "perform by key, of Sidekiq",
    ratio(performed, PERFORM, SIDEKIQ), at_least: 10, digits: 1
  best = QUEUES.keys.select { |label| performed.key?(label) }
    .max_by { |label| performed[label][:rate].median }
  section.target "the same, of the fastest queue in rows",
    ratio(performed, PERFORM, best), at_least: 10, digits: 1
  p50, p99 = %i[p50_ms p99_ms].map { |key| delayed.dig(PERFORM, key)&.median }
  section.target "latency, p50, of Sidekiq's",
    ratio(delayed, PERFORM, SIDEKIQ, :p50_ms), at_most: 1.0, digits: 2
  section.target "latency, p50, ms", p50, at_most: 1.0, digits: 2
  section.target "latency, p99, ms", p99, at_most: 10, digits: 2
  rss = [FULL, EMPTY].map { |label| memory.dig(label, :rss)&.median }
  section.target "RSS that #{WAITING} waiting records add, MiB",
    (rss[0] - rss[1] if rss.all?), at_most: 30, digits: 1
end
