# frozen_string_literal: true

# How long does a round trip from a REQ to a REP and back take? See support/bench.rb for what
# narrows a run.
require_relative "support/bench"

RUNS = 15
COUNT = Bench.quick? ? 500 : 5_000
TRANSPORTS = %w[tcp ipc].freeze
SIZES = {1 => "1 B", 100 => "100 B", 1024 => "1 KiB"}.freeze
C = "C"
BOTH = "godwit"

# What the issue says of rbczmq on a like machine, in microseconds, and of C beside it. It cannot be
# installed here.
RBCZMQ = 125.0
RBCZMQ_C = 50.0

# label => [client, server]
CONTENDERS = {
  C => %i[c c], BOTH => %i[godwit godwit], "godwit client, C server" => %i[godwit c],
  "C client, godwit server" => %i[c godwit], "pyzmq" => %i[pyzmq pyzmq],
  "ffi-rzmq" => %i[ffi_rzmq ffi_rzmq]
}.freeze

def run_once(endpoint, size, client, server)
  _, times =
    Bench::Child.pair(
      Bench::Programs.command(server, :rep), Bench::Programs.command(client, :req), endpoint, size,
      COUNT, COUNT / 10
    )
  {p50: times["p50_us"], p99: times["p99_us"], mean: times["mean_us"], cpu: times["cpu_ns"] / 1e3}
end

def contest(transport, size, next_endpoint)
  contest = Bench::Contest.new("latency, #{transport}, #{SIZES[size]}")
  CONTENDERS.each do |label, (client, server)|
    contest.add(label, *[client, server].uniq) do
      run_once(next_endpoint.call(transport), size, client, server)
    end
  end
  [contest.run(Bench.runs(RUNS)), contest.absent]
end

def ratio(results, label, key = :p50)
  results[label][key].median / results[C][key].median if results&.key?(label) && results.key?(C)
end

def microseconds(value) = format("%.1f", value)

def table(section, results)
  rows = results.map do |label, figures|
    [
      label,
      *%i[p50 p99 mean].map { |key| microseconds(figures[key].median) },
      "#{microseconds(figures[:p50].least)} to #{microseconds(figures[:p50].most)}",
      *%i[p50 p99 mean].map do |key|
        ratio(results, label, key)&.then { |value| format("%.2f", value) } || "-"
      end,
      microseconds(figures[:cpu].median)
    ]
  end
  section.table [
    "round trips, µs", "p50", "p99", "mean", "p50 of the runs", "p50 to C", "p99 to C",
    "mean to C", "client's CPU"
  ],
    rows
end

Bench.section("latency", "Latency: REQ and REP, round trips") do |section|
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs of #{COUNT} round trips each, after a tenth more to warm
    up. A round trip is a request and its reply (the same message). The client times each round trip
    with one reading of the clock. A one-way time would be about half. Two processes.
  MARKDOWN
  absent = {}
  first = nil
  Bench.endpoints do |next_endpoint|
    Bench.transports(TRANSPORTS).product(Bench.sizes(SIZES.keys, quick: [1])) do |transport, size|
      results, missing = contest(transport, size, next_endpoint)
      absent.update(missing)
      first = results if transport == "tcp" && size == 1
      section.heading "#{transport}, #{SIZES[size]}"
      table(section, results)
    end
  end
  section.absent(absent)
  section.text <<~MARKDOWN
    Not measured: rbczmq cannot be installed beside this libzmq. On a similar machine its round trip
    took #{RBCZMQ.to_i} µs, and C's #{RBCZMQ_C.to_i} µs (published with godwit's requirements).
  MARKDOWN
  section.target "tcp, 1 B: godwit's p50, of C's", ratio(first, BOTH), at_most: 1.15
  section.target "the same, better", ratio(first, BOTH), at_most: 1.1
  section.target "tcp, 1 B: ahead of rbczmq's published share of C's (not measured here)",
    ratio(first, BOTH),
    less_than: RBCZMQ / RBCZMQ_C
end
