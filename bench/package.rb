# frozen_string_literal: true

# Is the platform gem, with its own libzmq, as fast as the source gem on the system's? See
# support/bench.rb for what narrows a run.
require_relative "support/bench"

RUNS = 7
GOAL = 0.95
GEMS = {"platform gem" => :platform_gem, "source gem" => :source_gem}.freeze
# What is measured => the programs of both sides, bytes and number of the messages.
CASES = {
  "tcp, 100 B" => [:pull, :push, 100, 1_500_000], "tcp, 64 KiB" => [:pull, :push, 65_536, 12_000],
  "CURVE, 64 KiB" => [:curve_pull, :curve_push, 65_536, 8_000],
  "round trips, 1 B" => [:rep, :req, 1, 5_000]
}.freeze

# @return [Hash{Symbol => Float}] messages or round trips a second
def run_once(kind, server, client, size, count)
  count /= 20 if Bench.quick?
  commands = [server, client].map { |role| Bench::Programs.command(kind, role) }
  received, sent = Bench::Child.pair(*commands, "tcp://127.0.0.1:*", size, count, count / 10)
  {rate: received["rate"] || 1e6 / sent["p50_us"]}
end

def contest(name)
  contest = Bench::Contest.new("package, #{name}")
  GEMS.each { |label, kind| contest.add(label, kind) { yield kind } }
  contest.run(Bench.runs(RUNS)).transform_values { |figures| figures.values.first.median }
end

def ratio(results) = (results.values.reduce(:/) if results.size == GEMS.size)

def speed(section)
  rates = CASES.to_h { |name, form| [name, contest(name) { |kind| run_once(kind, *form) }] }
  section.table ["", *GEMS.keys, "ratio"], rates.map { |name, results|
    [name, *GEMS.keys.map { |label| results[label] ? results[label].round.to_s : "-" },
      ratio(results)&.then { |value| format("%.3f", value) } || "-"]
  }
  rates.each { |name, results| section.target name, ratio(results), at_least: GOAL }
end

def costs(section, installed)
  seconds = contest("require") do |kind|
    Bench::Child.result(*Bench::Programs.command(kind, :require)).slice("seconds")
  end
  section.heading "Costs"
  section.table ["", "seconds to install", "seconds of `require \"godwit\"`", "MiB on disk"],
    installed.map { |label, time|
      [label, format("%.1f", time), seconds[label] ? format("%.3f", seconds[label]) : "-",
        format("%.1f", Bench::PackagedGems.size(GEMS[label]) / 1024.0**2)]
    }
end

Bench.section("package", "The platform gem beside the source gem") do |section|
  reason = GEMS.values.filter_map { |kind| Bench::PackagedGems.missing(kind) }.first
  next section.text("Not measured: #{reason}.") if reason
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs, medians, two processes over tcp. The platform gem brings
    its own libzmq, the source gem is compiled here over the system's. Messages a second at the
    receiver, and round trips a second, as the inverse of the median time. The ratio is the platform
    gem's figure divided by the source gem's.
  MARKDOWN
  installed = GEMS.transform_values { |kind| Bench::PackagedGems.install(kind) }
  speed(section)
  costs(section, installed)
end
