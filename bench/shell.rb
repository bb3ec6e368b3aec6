# frozen_string_literal: true

# What does it cost to take a command's rows, beside the ways that Ruby has? See support/bench.rb
# for what narrows a run.
require_relative "support/bench"

RUNS = 5
TREE = Bench.quick? ? File.join(Bench::ROOT, "lib") : "/usr"
FIND = ["find", TREE].freeze
PATTERN = Bench.quick? ? "rb" : "test"
ROWS = Bench.quick? ? 20_000 : 3_000_000
QUIET = ["sh", "-c", "seq 19; exec sleep #{Bench.quick? ? 0.2 : 2}"].freeze
ALL = {
  "backticks" => "backticks", "IO.popen, row by row" => "popen", "Godwit" => "rows",
  "Godwit, `reuse: true`" => "reuse"
}.freeze
TEN = {
  "backticks" => "ten-backticks", "IO.popen, left after the tenth" => "ten-popen",
  "Godwit" => "ten-rows"
}.freeze
BARE = {
  "backticks" => "bare-backticks", "IO.popen, each_line" => "bare-popen", "Godwit" => "bare-rows",
  "Godwit, `reuse: true`" => "bare-reuse"
}.freeze

# Runs each way once a run, in turn.
def contest(name, ways, what, *command, runs: Bench.runs(RUNS))
  contest = Bench::Contest.new(name)
  ways.each do |label, way|
    contest.add(label, :godwit) do
      Bench::Child
        .result(*Bench::Programs.command(:godwit, :shell), way, what, *command)
        .except("program", "way")
        .transform_keys(&:to_sym)
    end
  end
  contest.run(runs)
end

def mib(bytes)
  (bytes < 10_000_000) ? format("%.2f", bytes / 1048576.0) : format("%.0f", bytes / 1048576.0)
end

# Speed over popen's, pair by pair.
def ratio(figures, label)
  popen, other = ["IO.popen, each_line", label].map { |name| figures.dig(name, :seconds) }
  other && popen &&
    Bench::Contest::Sample.new(
      popen.values.zip(other.values).map { |theirs, ours| theirs / ours }
    ).median
end

def tree(section, ways, title)
  costs = contest("#{title}: cost", ways, "cost", PATTERN, *FIND, runs: 1)
  speeds = contest("#{title}: speed", ways, "speed", PATTERN, *FIND)
  section.heading title
  section.table ["", "rows read", "MiB allocated", "objects", "peak RSS, MiB",
    "of it for the rows", "seconds", "ms after the last match"],
    speeds.map { |label, figures|
      [
        label, figures[:rows].median.to_i, mib(costs.dig(label, :bytes).median),
        costs.dig(label, :objects).median.to_i, format("%.1f", figures[:peak_mib].median),
        format("%.1f", figures[:growth_mib].median), format("%.3f", figures[:seconds].median),
        format("%.1f", figures[:after_ms].median)
      ]
    }
  [costs, speeds]
end

Bench.section("shell", "Rows of commands") do |section|
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs, medians. Ruby has three methods (all output at once by
    backticks; `IO.popen` row by row; `IO.popen` with an early exit). Godwit is the fourth.
    "Allocated" is the memory that Ruby takes from malloc and its heap in one run without the
    garbage collector; the other columns are with it. The tree is `#{TREE}`, the pattern
    /#{PATTERN}/.
  MARKDOWN
  tree(section, ALL, "All rows of a find, with the matches counted")
  costs, speeds = tree(section, TEN, "The first ten matches")

  quiet = contest("quiet", TEN, "speed", "1", *QUIET, runs: Bench.runs(3))
  section.heading "The same from a command that then says nothing for #{QUIET.last[/[\d.]+\z/]} s"
  section.table ["", "seconds"],
    quiet.map { |label, figures| [label, format("%.3f", figures[:seconds].median)] }

  bare = contest("generator", BARE, "speed", "x", Bench::Programs.c("rows"), ROWS)
  section.heading "#{ROWS} rows of 100 B that C writes, nothing done with them"
  section.table ["", "seconds", "of it Ruby's own CPU", "rows/s", "memory grew by, MiB",
    "speed of IO.popen's"], bare.map { |label, figures|
                              seconds = figures[:seconds].median
                              [
                                label, format("%.2f", seconds),
                                format("%.2f", figures[:cpu].median),
                                format("%.2f M", ROWS / seconds / 1e6),
                                format("%.1f", figures[:growth_mib].most),
                                format("%.2f", ratio(bare, label))
                              ]
                            }

  section.target "S1: memory grows by, MiB, over #{ROWS} rows (worst run)",
    bare.dig("Godwit", :growth_mib)&.most,
    at_most: 4,
    digits: 1
  section.target "S1: first(10) of a find allocates, MiB",
    costs.dig("Godwit", :bytes)&.then { |sample| sample.median / 1_048_576 },
    at_most: 0.5
  section.target "S1: first(10) ends after the tenth row, ms (worst run)",
    speeds.dig("Godwit", :after_ms)&.most,
    at_most: 50,
    digits: 1
  section.target "S2: speed of IO.popen.each_line's, median of pairs",
    ratio(bare, "Godwit"),
    at_least: 1.2
  section.target "S2: the same with `reuse: true`",
    ratio(bare, "Godwit, `reuse: true`"),
    at_least: 2.0
end
