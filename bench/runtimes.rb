# frozen_string_literal: true

# What does Godwit cost on each runtime: the C extension, and FFI on CRuby and on JRuby, beside
# ffi-rzmq and beside bare calls through FFI? See support/bench.rb for what narrows a run.
require_relative "support/bench"

RUNS = 3
SIZES = {100 => "100 B", 1024 => "1 KiB"}.freeze
C = "C"

# label => kind
CONTENDERS = {
  C => :c, "godwit, native" => :godwit, "godwit, FFI on CRuby" => :godwit_ffi,
  "ffi-rzmq on CRuby" => :ffi_rzmq, "bare FFI calls on CRuby" => :bare_ffi,
  "godwit, FFI on JRuby" => :godwit_jruby, "ffi-rzmq on JRuby" => :ffi_rzmq_jruby,
  "bare FFI calls on JRuby" => :bare_ffi_jruby
}.freeze
RUNTIMES = %w[CRuby JRuby].freeze

# kind => form => messages, about half a second of them; latency: round trips. In the order in which
# one process goes through them.
COUNTS = {
  godwit: {
    "strings" => 500_000, "batches" => 500_000, "frames" => 300_000, "latency" => 4_000
  },
  godwit_ffi: {
    "strings" => 300_000, "batches" => 500_000, "frames" => 60_000, "latency" => 4_000
  },
  ffi_rzmq: {
    "strings" => 150_000, "frames" => 150_000, "latency" => 4_000
  },
  bare_ffi: {
    "strings" => 500_000, "whole" => 300_000, "latency" => 4_000
  },
  godwit_jruby: {
    "strings" => 400_000, "batches" => 400_000, "frames" => 60_000, "latency" => 4_000
  },
  ffi_rzmq_jruby: {
    "strings" => 300_000, "frames" => 300_000, "latency" => 4_000
  },
  bare_ffi_jruby: {
    "strings" => 500_000, "whole" => 500_000, "latency" => 4_000
  }
}.freeze
C_COUNT = 600_000
C_ROUND_TRIPS = 4_000

def shortened(count) = Bench.quick? ? count / 20 : count

# JRuby's compilers want some seconds of messages beside the other process before they are done: so
# many times what is measured, in a form's first size; then as many again. A method that is called
# once in 256 messages takes them longer. The others want a tenth.
JRUBY_WARM_UP = Hash.new(4).merge("batches" => 10).freeze

def warm_up(kind, form, count, first)
  return count / 10 unless Bench::Programs::JRUBY.include?(kind)
  (first && !Bench.quick?) ? count * JRUBY_WARM_UP[form] : count
end

def steps(kind, sizes)
  COUNTS.fetch(kind).flat_map do |form, count|
    count = shortened(count)
    sizes.map do |size|
      [form, size, count, warm_up(kind, form, count, size == sizes.first)].join(":")
    end
  end
end

def run_once(kind, sizes)
  program = Bench::Programs.command(kind, :runtimes)
  received, sent =
    Bench::Child.pair(
      [*program, "server"], [*program, "client"], "tcp://127.0.0.1:*", *steps(kind, sizes)
    )
  rates = received.transform_values { |result| result["rate"] }
  times =
    sent.flat_map do |key, result|
      [["#{key}_mean", result["mean_us"]], ["#{key}_p99", result["p99_us"]]]
    end
  rates.merge(times.to_h).transform_keys(&:to_sym)
end

def run_c(sizes)
  sizes.each_with_object({}) do |size, figures|
    count = shortened(C_COUNT)
    numbers = [size, count, count / 10]
    pull, = c_pair(:pull, :push, numbers)
    figures[:"strings_#{size}"] = pull["rate"]
    pull, = c_pair(:frames_pull, :frames_push, numbers, numbers + ["in-place"])
    figures[:"frames_#{size}"] = pull["rate"]
    trips = shortened(C_ROUND_TRIPS)
    _, times = c_pair(:rep, :req, [size, trips, trips / 10])
    figures[:"latency_#{size}_mean"] = times["mean_us"]
    figures[:"latency_#{size}_p99"] = times["p99_us"]
  end
end

def c_pair(server, client, numbers, client_arguments = numbers)
  Bench::Child.pair(
    Bench::Programs.command(:c, server), Bench::Programs.command(:c, client), "tcp://127.0.0.1:*",
    *numbers, client_arguments: client_arguments
  )
end

def figure(results, label, key)
  sample = results.dig(label, key) if results.key?(label)
  sample.median if sample.respond_to?(:median)
end

def ratio(results, above, below)
  top, bottom = [above, below].map { |label, key| figure(results, label, key) }
  top / bottom if top && bottom
end

def shown(value, times)
  return "-" unless value
  [
    format((value >= 1e6) ? "%.2f M" : "%.0f k", value / ((value >= 1e6) ? 1e6 : 1e3)),
    *times&.then { |number| format("%.1f", number) }
  ].join(" · ")
end

def runtime(label) = RUNTIMES.find { |name| label.end_with?(name) } || "CRuby"

def row(results, size, label)
  rzmq = ["ffi-rzmq on #{runtime(label)}", :"strings_#{size}"]
  times =
    %i[mean p99].map do |key|
      figure(results, label, :"latency_#{size}_#{key}")&.then { |value| format("%.1f", value) } ||
        "-"
    end
  rates = %w[strings batches frames].map do |form|
    shown(
      figure(results, label, :"#{form}_#{size}"), ratio(results, [label, :"#{form}_#{size}"], rzmq)
    )
  end
  [label, *times, *rates]
end

# What receiving Strings through bare calls reaches, below the row of one call a message.
def whole_row(results, size, label)
  rate = [label, :"whole_#{size}"]
  [
    "#{label}, Strings",
    "-",
    "-",
    shown(
      figure(results, *rate),
      ratio(results, rate, ["ffi-rzmq on #{runtime(label)}", :"strings_#{size}"])
    ),
    "-",
    "-"
  ]
end

def rows(results, size)
  results.keys.flat_map do |label|
    [
      row(results, size, label), (whole_row(results, size, label) if label.start_with?("bare"))
    ].compact
  end
end

def targets(section, results, size)
  RUNTIMES.each do |name|
    mine = "godwit, FFI on #{name}"
    theirs = "ffi-rzmq on #{name}"
    strings = [theirs, :"strings_#{size}"]
    where = "#{name}, #{SIZES[size]}"
    section.target "#{where}: strings, times ffi-rzmq",
      ratio(results, [mine, strings.last], strings),
      at_least: 2,
      digits: 2
    section.target "#{where}: batches, times ffi-rzmq's strings",
      ratio(results, [mine, :"batches_#{size}"], strings),
      at_least: 4,
      digits: 2
    %i[mean p99].each do |key|
      times = :"latency_#{size}_#{key}"
      section.target "#{where}: #{key} round trip, of ffi-rzmq's",
        ratio(results, [mine, times], [theirs, times]),
        at_most: 1,
        digits: 2
    end
  end
end

Bench.section("runtimes", "Runtimes: the C extension, FFI on CRuby, FFI on JRuby") do |section|
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs over tcp, two processes. Round trips: REQ and REP, each
    timed. Messages/s: PUSH to PULL; the number after the dot is the ratio to ffi-rzmq's strings on
    the same runtime.

    * Strings: one call per message, copied. Batches: send_many of 256, recv_many(256).
    * Frames: a Frame (ffi-rzmq: a Message) is created, sent, received, asked for its size and
      closed without a copy; C sends in place.
    * A process measures its whole row, so JRuby starts once.
    * Warm-up on JRuby: Godwit, ffi-rzmq and bare calls run four times the measured messages and
      round trips (batches, whose methods are called once in 256: ten times), because JRuby's
      compilers share the two cores with both processes and need some seconds. The second size has
      the same number. The other runtimes warm up with a tenth.
    * Bare FFI calls: zmq_send and zmq_recv with DONTWAIT through the gem ffi (JRuby: its own), one
      call per message into one buffer, zmq_poll without a message. No lock, no check, no String.
    * A library over FFI that creates Strings and keeps messages whole needs four calls to receive a
      message (zmq_msg_recv, zmq_msg_more, zmq_msg_data, the copy). The bare row "Strings" makes
      exactly these. So it shows the limit that FFI's calls set for a library, with strings or
      batches.
  MARKDOWN
  sizes = Bench.sizes(SIZES.keys, quick: SIZES.keys)
  contest = Bench::Contest.new("runtimes")
  CONTENDERS.each do |label, kind|
    contest.add(label, kind) { (kind == :c) ? run_c(sizes) : run_once(kind, sizes) }
  end
  results = contest.run(Bench.runs(RUNS))
  sizes.each do |size|
    section.heading SIZES[size]
    section.table [
      "", "round trip, µs: mean", "p99", "strings/s · ffi-rzmq's", "batches/s", "frames/s"
    ],
      rows(results, size)
  end
  section.absent(contest.absent)
  sizes.each { |size| targets(section, results, size) }
end
