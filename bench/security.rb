# frozen_string_literal: true

# What does CURVE cost beside no encryption, and what does an Auth cost? See support/bench.rb for
# what narrows a run.
require_relative "support/bench"

RUNS = 5
SIZES = {100 => "100 B", 65_536 => "64 KiB"}.freeze
COUNTS = {100 => 400_000, 65_536 => 8_000}.freeze
HANDSHAKES = 500
HANDSHAKE_RUNS = 15 # these figures vary by a third from run to run
CERTIFICATES = 10_000
GOAL = 1.25
MECHANISMS = {"NULL" => "", "CURVE" => "curve_"}.freeze
MODES = {"without Auth" => "none", "with Auth, keys:" => "keys", "with Auth, dir:" => "dir"}.freeze

# @return [Hash] rate, in messages a second
def throughput(kind, prefix, size)
  count = COUNTS[size] / (Bench.quick? ? 20 : 1)
  receiver, sender = %w[pull push].map { |role| Bench::Programs.command(kind, :"#{prefix}#{role}") }
  received, = Bench::Child.pair(receiver, sender, "tcp://127.0.0.1:*", size, count, count / 10)
  {rate: received["rate"]}
end

# @return [Hash] the server's CPU time, in nanoseconds
def handshakes(mode)
  count = HANDSHAKES / (Bench.quick? ? 20 : 1)
  Bench::Child.together do |start|
    server =
      start.call(
        *Bench::Programs.command(:godwit, :handshake_server), "tcp://127.0.0.1:*", count, mode
      )
    start.call(*Bench::Programs.command(:godwit, :handshake_client), server.ready, count).result
    server.release
    {cpu: server.result["cpu_ns"]}
  end
end

def curve_to_null(section)
  ratios = {}
  rows = Bench.sizes(SIZES.keys, quick: [100]).flat_map { |size|
    contest = Bench::Contest.new("security, #{SIZES[size]}")
    contenders = {"C" => :c, "godwit" => :godwit}.flat_map { |name, kind|
      MECHANISMS.map { |mechanism, prefix| ["#{name}, #{mechanism}", kind, prefix] }
    }
    contenders.each do |label, kind, prefix|
      contest.add(label, kind) { throughput(kind, prefix, size) }
    end
    results = contest.run(Bench.runs(RUNS))
    %w[C godwit].map do |name|
      null, curve = MECHANISMS.keys.map { |one| results.dig("#{name}, #{one}", :rate)&.median }
      ratio = ratios[[name, size]] = (curve / null if curve && null)
      [
        "#{name}, #{SIZES[size]}",
        *[null, curve].map { |rate| rate ? format("%.1f k", rate / 1e3) : "-" },
        ratio ? format("%.3f", ratio) : "-"
      ]
    end
  }
  section.heading "CURVE to NULL: messages a second, PUSH to PULL over tcp"
  section.table ["", *MECHANISMS.keys, "CURVE / NULL"], rows
  ratios
end

def handshake_cost(section)
  contest = Bench::Contest.new("security, handshakes")
  MODES.each { |label, mode| contest.add(label, :godwit) { handshakes(mode) } }
  costs =
    contest.run(Bench.runs(HANDSHAKE_RUNS)).transform_values { |result| result[:cpu]&.median }
  base = costs["without Auth"]
  section.heading "Server CPU for each handshake"
  section.table(
    ["", "microseconds", "ratio"],
    costs.map { |label, cpu|
      [label, cpu ? format("%.0f", cpu / 1e3) : "-",
        (base && cpu) ? format("%.3f", cpu / base) : "-"]
    }
  )
  MODES.keys.drop(1).each do |label|
    section.target "#{label}, of the server CPU without Auth",
      base && costs[label] && costs[label] / base, at_most: GOAL
  end
end

def store(section)
  count = Bench.quick? ? 500 : CERTIFICATES
  runs = Array.new(Bench.runs(3)) {
    Bench::Child.result(*Bench::Programs.command(:godwit, :cert_store), count)
  }
  middle = %w[read load again stat hit miss].to_h { |name|
    [name, runs.map { |run| run[name] }.sort[runs.size / 2]]
  }
  section.heading "A store of #{count} certificates"
  section.table(
    ["", "microseconds", "ratio"],
    [
      ["File.read of each file, for each", middle["read"] / count, middle["read"], middle["read"]],
      ["load, for each file", middle["load"] / count, middle["load"], middle["read"]],
      ["read the directory again, for each file", middle["again"] / count, middle["again"],
        middle["read"]],
      ["File.stat", middle["stat"], middle["stat"], middle["stat"]],
      ["hit", middle["hit"], middle["hit"], middle["stat"]],
      ["miss within a second of another", middle["miss"], middle["miss"], middle["stat"]]
    ].map do |label, time, one, base|
      [label, format("%.1f", time * 1e6), format("%.2f", one / base)]
    end
  )
end

Bench.section("security", "CURVE and Auth") do |section|
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs (handshakes: #{Bench.runs(HANDSHAKE_RUNS)}), medians. All
    ratios are of this run. The handshakes come one after the other from another process; the
    server's CPU time is that of its whole process, libzmq's threads included. The store's ratios
    are to `File.read` of its files, and to one `File.stat`.
  MARKDOWN
  ratios = curve_to_null(section)
  handshake_cost(section)
  store(section)
  SIZES.each do |size, name|
    c, ours = %w[C godwit].map { |label| ratios[[label, size]] }
    next unless c && ours
    section.text "CURVE / NULL at #{name}: godwit #{format("%.3f", ours)}, C #{format("%.3f", c)}."
  end
end
