# frozen_string_literal: true

# How many messages a second go from a PUSH to a PULL? See support/bench.rb for what narrows a run.
require_relative "support/bench"

RUNS = 7
TRANSPORTS = %w[tcp ipc inproc].freeze
SIZES = {8 => "8 B", 100 => "100 B", 1024 => "1 KiB", 65_536 => "64 KiB"}.freeze
C = "C"

# What the issue says of rbczmq on a like machine: its best figure and that of C. It cannot be
# installed here.
RBCZMQ = 1.5
RBCZMQ_C = 2.6

# So many that C takes about half a second after the warm-up, godwit up to one.
COUNTS = {
  "tcp" => {8 => 2_000_000, 100 => 1_500_000, 1024 => 500_000, 65_536 => 12_000},
  "ipc" => {8 => 2_000_000, 100 => 1_500_000, 1024 => 500_000, 65_536 => 12_000},
  "inproc" => {8 => 2_000_000, 100 => 2_000_000, 1024 => 1_000_000, 65_536 => 40_000}
}.freeze

# The same count for all but the slowest, which would take up to a minute a run; all of them run for
# long after their warm-up.
SHARES = {
  "tcp" => {
    ffi_rzmq: 4
  },
  "ipc" => {
    ffi_rzmq: 4
  },
  "inproc" => {
    ffi_rzmq: 20, pyzmq: 4
  }
}.freeze

# label => [sender, receiver, form]
BOTH_SIDES = {
  C => [:c, :c, nil], "godwit, strings" => [:godwit, :godwit, "strings"],
  "godwit, batches" => [:godwit, :godwit, "batches"], "pyzmq" => [:pyzmq, :pyzmq, nil],
  "ffi-rzmq" => [:ffi_rzmq, :ffi_rzmq, nil]
}.freeze
ONE_SIDE = {
  "godwit to C, strings" => [:godwit, :c, "strings"],
  "godwit to C, batches" => [:godwit, :c, "batches"],
  "C to godwit, strings" => [:c, :godwit, "strings"],
  "C to godwit, batches" => [:c, :godwit, "batches"]
}.freeze

def arguments(transport, size, kind, form)
  count = COUNTS[transport][size] / SHARES[transport].fetch(kind, 1) / (Bench.quick? ? 20 : 1)
  [size, count, count / 10, *(form if kind == :godwit)]
end

def run_once(transport, endpoint, size, sender, receiver, form)
  if transport == "inproc"
    result =
      Bench::Child.result(
        *Bench::Programs.command(receiver, :together), "push", endpoint,
        *arguments(transport, size, receiver, form)
      )
    return {rate: result["rate"], recv_cpu: result["cpu_ns"]}
  end
  pull, push =
    Bench::Child.pair(
      Bench::Programs.command(receiver, :pull), Bench::Programs.command(sender, :push), endpoint,
      *arguments(transport, size, receiver, form),
      client_arguments: arguments(transport, size, sender, form)
    )
  {rate: pull["rate"], send_cpu: push["cpu_ns"], recv_cpu: pull["cpu_ns"]}
end

def contest(transport, size, next_endpoint)
  contest = Bench::Contest.new("throughput, #{transport}, #{SIZES[size]}")
  contenders = (transport == "inproc") ? BOTH_SIDES : BOTH_SIDES.merge(ONE_SIDE)
  contenders.each do |label, (sender, receiver, form)|
    contest.add(label, *[sender, receiver].uniq) do
      run_once(transport, next_endpoint.call(transport), size, sender, receiver, form)
    end
  end
  [contest.run(Bench.runs(RUNS)), contest.absent]
end

def ratio(results, label, base = C)
  median = ->(name) { results&.dig(name, :rate)&.median }
  median.call(label) / median.call(base) if median.call(label) && median.call(base)
end

def cell(results, label)
  return "-" unless results.key?(label)
  [
    Bench.rate(results[label][:rate].median),
    *ratio(results, label)&.then { |value| format("%.2f", value) }
  ].join(" · ")
end

def table(section, by_size)
  labels =
    (BOTH_SIDES.keys + ONE_SIDE.keys).select do |label|
      by_size.each_value.any? { |results| results.key?(label) }
    end
  section.table ["messages/s · ratio to C", *by_size.keys.map { |size| SIZES[size] }],
    labels.map { |label| [label, *by_size.each_value.map { |results| cell(results, label) }] }
end

def detail(section, results)
  section.heading "tcp at 100 B, more closely"
  section.text "CPU: nanoseconds per message of the whole process, libzmq's own thread included."
  section.table ["", "median", "lowest", "highest", "ratio to C", "CPU sending", "CPU receiving"],
    results.map { |label, figures|
      values = figures[:rate]
      [
        label, *[values.median, values.least, values.most].map { |value| Bench.rate(value) },
        ratio(results, label)&.then { |value| format("%.2f", value) } || "-",
        *%i[send_cpu recv_cpu].map { |key| format("%.0f", figures[key].median) }
      ]
    }
end

def targets(section, results)
  goals = {
    "godwit, strings" => 0.9, "godwit, batches" => 1.0, "godwit to C, strings" => 0.9,
    "godwit to C, batches" => 1.0, "C to godwit, strings" => 0.9, "C to godwit, batches" => 1.0
  }
  goals.each do |label, goal|
    section.target "tcp, 100 B: #{label}, of C", ratio(results, label), at_least: goal
  end
  section.target "tcp, 100 B: godwit, strings, times pyzmq",
    ratio(results, "godwit, strings", "pyzmq"),
    at_least: 2
  section.target "tcp, 100 B: godwit, strings, times ffi-rzmq",
    ratio(results, "godwit, strings", "ffi-rzmq"),
    at_least: 6
  section.target "tcp, 100 B: ahead of rbczmq's published share of C (not measured here)",
    ratio(results, "godwit, strings"),
    more_than: (RBCZMQ / RBCZMQ_C).round(2)
end

Bench.section("throughput", "Throughput: PUSH to PULL") do |section|
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs. The receiver measures from the last message of the warm-up
    (a tenth more messages) to the last message. tcp and ipc use two processes. inproc uses two
    threads of one process, so a side cannot be measured against C there. High-water marks are the
    defaults. C is the plain blocking loop: zmq_msg_init_size, memcpy, zmq_msg_send; zmq_msg_recv.
    Strings: one call per message. Batches: send_many of the same Array of 256, recv_many(256).
    ffi-rzmq moves a fourth of the messages (inproc: a twentieth, pyzmq there a fourth), because a
    full run would take up to a minute.
  MARKDOWN
  absent = {}
  all = Bench.endpoints do |next_endpoint|
    Bench.transports(TRANSPORTS).to_h do |transport|
      [transport, Bench.sizes(SIZES.keys, quick: [100, 65_536]).to_h { |size|
        results, missing = contest(transport, size, next_endpoint)
        absent.update(missing)
        [size, results]
      }]
    end
  end
  all.each do |transport, by_size|
    section.heading transport
    table(section, by_size)
  end
  closely = all.dig("tcp", 100)
  detail(section, closely) if closely
  section.absent(absent)
  section.text <<~MARKDOWN
    Not measured: rbczmq cannot be installed beside this libzmq. On a similar machine it reached 1.2
    to #{RBCZMQ} million messages/s, and C #{RBCZMQ_C} million (published with godwit's
    requirements).
  MARKDOWN
  targets(section, closely)
end
