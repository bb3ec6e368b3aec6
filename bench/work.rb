# frozen_string_literal: true

# How many records a second does godwit-work write and handle, how soon, and in how much memory? See
# support/bench.rb for what narrows a run.
require_relative "support/bench"

RUNS = 5
QUICK = Bench.quick?
# Records of a run.
PRODUCED = QUICK ? 10_000 : 500_000
SINGLE = QUICK ? 800 : 20_000

MANY = "Godwit, produce_many of 1,000"
MANY_KEYS = "the same with keys"
ONE = "Godwit, produce of one"
THREADS = "Godwit, produce of one, 16 threads"
ROWS = "INSERT, 1,000 a transaction"
ROWS_BOUND = "the same by bind_param, step, reset!"
ROWS_KEYS = "the same with a column of keys"
ROWS_ONE = "INSERT, one a transaction"

# label => [kind, how it writes, records]
PRODUCERS = {
  MANY => [:work, "many", PRODUCED], MANY_KEYS => [:work, "keys", PRODUCED],
  ROWS => [:rows, "many", PRODUCED], ROWS_BOUND => [:rows, "bound", PRODUCED],
  ROWS_KEYS => [:rows, "keys", PRODUCED], ONE => [:work, "one", SINGLE],
  THREADS => [:work, "threads", SINGLE], ROWS_ONE => [:rows, "one", SINGLE]
}.freeze

def result(kind, role, *arguments)
  Bench::Child.result(*Bench::Programs.command(kind, role), *arguments)
end

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

def rate(figures) = format("%.1f k", figures[:rate].median / 1e3)

def ratio(results, over, under, key = :rate)
  above, below = [over, under].map { |label| results.dig(label, key)&.median }
  above / below if above && below
end

def rates(section, results, absent = {})
  section.table ["", "records/s"], results.map { |label, figures| [label, rate(figures)] } +
    absent.map { |label, reason| [label, reason] }
end

Bench.section("work", "Work: consumers on SQLite") do |section|
  Bench::WorkContenders.install unless QUICK
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs, medians; each contender runs in processes of its own. Values have 100 bytes. Godwit's format is `:raw`, but for the figures of JSON.
    Versions: #{Bench::WorkContenders.versions}.
  MARKDOWN

  section.heading "Produce"
  produced = produce_contest("raw")
  rates(section, produced)

  section.heading "JSON"
  json = produce_contest("json")
  rates(section, json)

  section.target "produce_many, of INSERTs in transactions of 1,000",
    ratio(produced, MANY, ROWS), at_least: 1.5, digits: 2
  section.target "the same, both with keys",
    ratio(produced, MANY_KEYS, ROWS_KEYS), at_least: 1.5, digits: 2
  section.target "produce, of an INSERT a transaction",
    ratio(produced, ONE, ROWS_ONE), at_least: 0.4, digits: 2
  section.target "the same from 16 threads",
    ratio(produced, THREADS, ROWS_ONE), at_least: 0.8, digits: 2
end
