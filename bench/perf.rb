# frozen_string_literal: true

# Does `godwit perf lat` measure the link, or itself? A client in C measures beside it. See
# support/bench.rb for what narrows a run.
require_relative "support/bench"

# Many short runs: C's own p50 varies from run to run between 45 and 100 us, with the cores that the
# kernel chooses for its threads and with other load.
RUNS = 31
COUNT = Bench.quick? ? 2_000 : 5_000
WARM_UP = 1_000 # of `perf lat` with --count
SIZE = 100
FOREVER = 1 << 40 # requests: the server ends with the section
C = "C"
BOTH = "godwit perf lat"

# label => kind
CONTENDERS = {
  C => :c, BOTH => :godwit, "the same, FFI on CRuby" => :godwit_ffi,
  "the same, FFI on JRuby" => :godwit_jruby
}.freeze

# @return [Hash] microseconds
def run_once(kind, endpoint)
  return run_c(endpoint) if kind == :c
  found = Bench::Child.result(
    *Bench::Programs.command(kind, :perf), "lat", endpoint, "--size", SIZE, "--count", COUNT,
    "--json"
  )
  {p50: found["p50"] * 1e6, p99: found["p99"] * 1e6}
end

def run_c(endpoint)
  found =
    Bench::Child.result(*Bench::Programs.command(:c, :req), endpoint, SIZE, COUNT, WARM_UP)
  {p50: found["p50_us"], p99: found["p99_us"]}
end

# The median of the ratios of each run to C's run in the same turn.
def ratio(results, label, key)
  return unless results.key?(label) && results.key?(C)
  turns = results[label][key].values.zip(results[C][key].values)
  Bench::Contest::Sample.new(turns.map { |run, run_of_c| run / run_of_c }).median
end

def share(ratio) = ratio ? format("%.2f", ratio) : "-"

def row(results, label)
  figures = results[label]
  [
    label, *%i[p50 p99].map { |key| format("%.1f", figures[key].median) },
    "#{format("%.1f", figures[:p50].least)} to #{format("%.1f", figures[:p50].most)}",
    *%i[p50 p99].map { |key| share(ratio(results, label, key)) }
  ]
end

Bench.section("perf", "godwit perf: its round trips beside those of a client in C") do |section|
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs of #{COUNT} round trips of #{SIZE} B over tcp,
    after #{WARM_UP} more to warm up. All clients measure the same server, a REP in C. Each is a
    process of its own. Godwit's clients are the command `godwit perf lat --count #{COUNT}`.
    A ratio to C is the median of the ratios to C's run in the same turn.
  MARKDOWN
  contest = Bench::Contest.new("perf")
  results = nil
  Bench::Child.together do |start|
    server = start.call(*Bench::Programs.command(:c, :rep), "tcp://127.0.0.1:*", SIZE, FOREVER)
    endpoint = server.ready
    CONTENDERS.each { |label, kind| contest.add(label, kind) { run_once(kind, endpoint) } }
    results = contest.run(Bench.runs(RUNS))
  end
  section.table ["round trips, µs", "p50", "p99", "p50 of the runs", "p50 to C", "p99 to C"],
    results.keys.map { |label| row(results, label) }
  section.absent(contest.absent)
  section.target "p50 of `perf lat`, of C's", ratio(results, BOTH, :p50), at_most: 1.15
end
