# frozen_string_literal: true

# How fast is Godwit on mruby beside the C extension, and what does a VM cost? See support/bench.rb
# for what narrows a run.
require_relative "support/bench"

RUNS = 7
SIZES = {100 => "100 B", 1024 => "1 KiB"}.freeze
COUNTS = {100 => 1_000_000, 1024 => 400_000}.freeze
FORMS = %w[strings batches].freeze
ROUND_TRIPS = 5_000
# label => [sender or client, receiver or server]
CONTENDERS = {
  "C extension" => %i[godwit godwit], "mruby" => %i[mruby mruby],
  "mruby to C extension" => %i[mruby godwit], "C extension to mruby" => %i[godwit mruby]
}.freeze
BASE = "C extension"

def shortened(count) = Bench.quick? ? count / 20 : count

def throughput(size, form, sender, receiver)
  count = shortened(COUNTS[size])
  pull, push =
    Bench::Child.pair(
      Bench::Programs.command(receiver, :pull), Bench::Programs.command(sender, :push),
      "tcp://127.0.0.1:*", size, count, count / 10, form
    )
  {rate: pull["rate"], sender: 1e9 / push["cpu_ns"], receiver: 1e9 / pull["cpu_ns"]}
end

def latency(size, client, server)
  count = shortened(ROUND_TRIPS)
  _, times =
    Bench::Child.pair(
      Bench::Programs.command(server, :rep), Bench::Programs.command(client, :req),
      "tcp://127.0.0.1:*", size, count, count / 10
    )
  {p50: times["p50_us"], p99: times["p99_us"], client: 1e9 / times["cpu_ns"]}
end

# Opens a VM with the gem in a program of its own.
def opening
  lines = IO.popen([vm_program], &:readlines)
  {ms: Float(lines[0]), anonymous: Float(lines[1])}
end

# bench/mruby/open_vm.c, linked with the library.
def vm_program
  @vm_program ||= MRubyBuild.new.program(File.join(Bench::FOLDER, "mruby", "open_vm.c"))
end

def contest(name, contenders)
  contest = Bench::Contest.new("mruby, #{name}")
  contenders.each { |label, kinds| contest.add(label, *kinds.uniq) { yield(*kinds) } }
  contest.run(Bench.runs(RUNS))
end

def ratio(results, label, key)
  return unless results.key?(label) && results.key?(BASE)
  results[label][key].median / results[BASE][key].median
end

def thousands(value) = format("%.0f k", value / 1e3)

def throughput_table(section, results)
  rows = results.map do |label, figures|
    [
      label, thousands(figures[:rate].median),
      ratio(results, label, :rate)&.then { |value| format("%.2f", value) } || "-",
      *%i[sender receiver].map { |key| thousands(figures[key].median) }
    ]
  end
  section.table [
    "messages/s", "median", "to the C extension", "sender, per CPU-second",
    "receiver, per CPU-second"
  ],
    rows
end

def latency_table(section, results)
  rows = results.map do |label, figures|
    [
      label, *%i[p50 p99].map { |key| format("%.1f", figures[key].median) },
      ratio(results, label, :p50)&.then { |value| format("%.2f", value) } || "-",
      thousands(figures[:client].median)
    ]
  end
  section.table [
    "round trips, µs", "p50", "p99", "p50 to the C extension", "client, round trips per CPU-second"
  ],
    rows
end

Bench.section("mruby", "mruby: the mrbgem beside the C extension") do |section|
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs over tcp, two processes, as in the sections Throughput and Latency. A side's CPU time contains libzmq's own thread.
  MARKDOWN
  Bench.sizes(SIZES.keys, quick: [100]).each do |size|
    FORMS.each do |form|
      results = contest("#{form}, #{SIZES[size]}", CONTENDERS) do |*kinds|
        throughput(size, form, *kinds)
      end
      section.heading "PUSH to PULL, #{form}, #{SIZES[size]}"
      throughput_table(section, results)
      section.target "#{form}, #{SIZES[size]}: rate, of the C extension",
        ratio(results, "mruby", :rate),
        at_least: (form == "strings") ? 0.8 : 1.0
    end
  end
  results = contest("round trips", CONTENDERS) { |*kinds| latency(100, *kinds) }
  section.heading "REQ and REP, 100 B"
  latency_table(section, results)
  section.target "round trips: p50, of the C extension",
    ratio(results, "mruby", :p50),
    at_most: 1.1
  if Bench::Contest.missing(:mruby).nil?
    vm = Array.new(Bench.runs(RUNS)) { opening }
    median = ->(key) { vm.map { |figures| figures[key] }.sort[vm.size / 2] }
    section.target "a VM with the gem opens, ms", median[:ms], at_most: 25, digits: 1
    section.target "its own memory (RssAnon), MiB", median[:anonymous] / 1024, at_most: 2.5
  end
end
