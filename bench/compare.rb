# frozen_string_literal: true

# Is this checkout slower than an earlier commit? `bundle exec ruby bench/compare.rb COMMIT [RUNS
# [PART]]` builds the commit in tmp/compare. The same programs then run on both libraries in turns.
require_relative "support/bench"

COMMIT = ARGV.fetch(0) { abort "usage: bundle exec ruby bench/compare.rb COMMIT [RUNS]" }
RUNS = Integer(ARGV.fetch(1, "9"))
MESSAGES = Bench.quick? ? 50_000 : 1_500_000
ROUND_TRIPS = Bench.quick? ? 500 : 20_000
RECORDS = Bench.quick? ? 24_000 : 480_000
CALLS = Bench.quick? ? 10_000 : 200_000
ROWS = Bench.quick? ? 20_000 : 3_000_000
TCP = "tcp://127.0.0.1:*"

def checkout(commit)
  folder = File.join(Bench::ROOT, "tmp", "compare", commit)
  unless File.exist?(folder)
    system("git", "worktree", "add", "--detach", folder, commit, exception: true)
  end
  system("bundle", "exec", "rake", "compile", chdir: folder, out: File::NULL, exception: true)
  folder
end

FOLDERS = {"before" => checkout(COMMIT), "now" => Bench::ROOT}.freeze

def program(folder, role) = Bench::Programs.command(:godwit, role, root: folder)

def pair(folder, server, client, *arguments)
  Bench::Child.pair(program(folder, server), program(folder, client), TCP, *arguments)
end

def messages(folder, form, size = 100)
  pair(folder, :pull, :push, size, MESSAGES, MESSAGES / 10, form).first["rate"]
end

def rows(folder, form)
  command = program(folder, :shell)
  seconds = Bench::Child.result(*command, form, "speed", "x", Bench::Programs.c("rows"), ROWS)
  ROWS / seconds["seconds"]
end

# Three writers, one reader; each record has a text of 100 B and a payload of two numbers.
def records(folder)
  Bench::Child.together do |start|
    reader = start.call(*program(folder, :log_reader), "fields", RECORDS, TCP)
    endpoint = reader.ready
    writers = Array.new(3) do
      start.call(*program(folder, :log_writer), "numbers", RECORDS / 3, endpoint)
    end
    result = reader.result(writers.first)
    writers.each(&:release)
    {rate: result["rate"], reader_us: result["cpu_ns"] / 1e3,
     writer_us: writers.sum { |writer| writer.result["cpu_ns"] } / 3e3}
  end
end

# One writer that calls `info`, and one reader.
def calls(folder)
  Bench::Child.together do |start|
    endpoint = start.call(*program(folder, :log_reader), "fields", 1_000_000_000, TCP).ready
    figures = start.call(*program(folder, :log_calls), "records", CALLS, endpoint).result
    {rate: 1e6 / figures["p50_us"], call_us: figures["cpu_ns"] / 1e3}
  end
end

# Each measurement gives a figure of which more is better, or several figures.
MEASURED = {
  "messages/s, 100 B, strings" => ->(folder) { messages(folder, "strings") },
  "messages/s, 100 B, batches" => ->(folder) { messages(folder, "batches") },
  "messages/s, 1 KiB, strings" => ->(folder) { messages(folder, "strings", 1024) },
  "round trips/s, 100 B, median" => lambda { |folder|
    1e6 / pair(folder, :rep, :req, 100, ROUND_TRIPS, ROUND_TRIPS / 10).last["p50_us"]
  },
  "rows/s of a command" => ->(folder) { rows(folder, "bare-rows") },
  "rows/s, `reuse: true`" => ->(folder) { rows(folder, "bare-reuse") },
  "records/s, three writers" => ->(folder) { records(folder) },
  "calls of `info`/s, median" => ->(folder) { calls(folder) }
}.freeze

FIGURES = {
  rate: nil, writer_us: "CPU of a writer a record, us", reader_us: "CPU of the reader a record, us",
  call_us: "CPU of a call of `info`, us"
}.freeze

def row(label, before, now)
  ratios = Bench::Contest::Sample.new(before.values.zip(now.values).map { |one, two| two / one })
  digits = (before.median > 1000) ? 0 : 2
  medians = [before, now].map { |sample| format("%.#{digits}f", sample.median) }
  [label, *medians, format("%.3f", ratios.median)]
end

def rows_of(label, measure)
  contest = Bench::Contest.new(label)
  FOLDERS.each do |name, folder|
    contest.add(name, :godwit) do
      figures = measure.call(folder)
      figures.is_a?(Hash) ? figures : {rate: figures}
    end
  end
  before, now = contest.run(RUNS).values
  before.keys.map { |key| row(FIGURES[key] || label, before[key], now[key]) }
end

Bench.section("compare", "This checkout beside #{COMMIT}") do |section|
  chosen = MEASURED.select { |label, _| label.include?(ARGV.fetch(2, "")) }
  table = chosen.flat_map { |label, measure| rows_of(label, measure) }
  section.text "#{RUNS} runs of each, in turns. The ratio is the median of the ratios of the pairs."
  section.table ["", "before", "now", "now / before"], table
end
