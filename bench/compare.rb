# frozen_string_literal: true

# Is this checkout slower than an earlier commit? `bundle exec ruby bench/compare.rb COMMIT [RUNS]`
# builds the commit in tmp/compare. The same programs then run on both libraries in turns.
require_relative "support/bench"

COMMIT = ARGV.fetch(0) { abort "usage: bundle exec ruby bench/compare.rb COMMIT [RUNS]" }
RUNS = Integer(ARGV.fetch(1, "9"))
MESSAGES = Bench.quick? ? 50_000 : 1_500_000
ROUND_TRIPS = Bench.quick? ? 500 : 20_000
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

def messages(folder, form)
  pair(folder, :pull, :push, 100, MESSAGES, MESSAGES / 10, form).first["rate"]
end

def rows(folder, form)
  command = program(folder, :shell)
  seconds = Bench::Child.result(*command, form, "speed", "x", Bench::Programs.c("rows"), ROWS)
  ROWS / seconds["seconds"]
end

# Each measurement gives a figure of which more is better.
MEASURED = {
  "messages/s, 100 B, strings" => ->(folder) { messages(folder, "strings") },
  "messages/s, 100 B, batches" => ->(folder) { messages(folder, "batches") },
  "round trips/s, 100 B, median" => lambda { |folder|
    1e6 / pair(folder, :rep, :req, 100, ROUND_TRIPS, ROUND_TRIPS / 10).last["p50_us"]
  },
  "rows/s of a command" => ->(folder) { rows(folder, "bare-rows") },
  "rows/s, `reuse: true`" => ->(folder) { rows(folder, "bare-reuse") }
}.freeze

Bench.section("compare", "This checkout beside #{COMMIT}") do |section|
  table = MEASURED.map do |label, measure|
    contest = Bench::Contest.new(label)
    FOLDERS.each do |name, folder|
      contest.add(name, :godwit) { {rate: measure.call(folder)} }
    end
    before, now = contest.run(RUNS).values.map { |figures| figures[:rate] }
    ratios = Bench::Contest::Sample.new(before.values.zip(now.values).map { |one, two| two / one })
    [label, *[before, now].map { |sample| sample.median.round }, format("%.3f", ratios.median)]
  end
  section.text "#{RUNS} runs of each, in turns. The ratio is the median of the ratios of the pairs."
  section.table ["", "before", "now", "now / before"], table
end
