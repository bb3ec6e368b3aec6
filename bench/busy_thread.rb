# frozen_string_literal: true

# What does a receiver still get when another Ruby thread computes without pause? See
# support/bench.rb for what narrows a run.
require_relative "support/bench"

RUNS = 7
SIZE = 100
HWM = 10_000
SECONDS = Bench.quick? ? 0.5 : 2
RECV = "godwit, recv"
PIPE = "IO.pipe, readpartial"

# label => [kind, further arguments]
CONTENDERS = {
  "C, busy pthread" => [:c], RECV => %i[godwit pipe],
  "godwit, recv_many(256)" => [:godwit, :pipe, "batches"], "pyzmq, busy Python thread" => [:pyzmq],
  "ffi-rzmq" => [:ffi_rzmq]
}.freeze

def run_once(kind, further)
  further =
    further.map { |argument| (argument == :pipe) ? Bench::Programs.c("stamp_pipe") : argument }
  Bench::Child.together do |start|
    receiver =
      start.call(
        *Bench::Programs.command(kind, :busy), "tcp://127.0.0.1:*", SIZE, SECONDS, HWM, *further
      )
    # Ended when the receiver has seen enough.
    start.call(Bench::Programs.c("stamp_push"), receiver.ready, SIZE, SECONDS + 30, HWM)
    receiver
      .result
      .slice("rate", "gap_ms", "age_ms", "pipe_rate", "pipe_gap_ms", "pipe_age_ms")
      .transform_keys(&:to_sym)
  end
end

def row(label, figures, prefix = "")
  rate, gap, age = [:rate, :gap_ms, :age_ms].map { |key| figures[:"#{prefix}#{key}"] }
  [
    label,
    format("%.0f", rate.median),
    *[gap, age].flat_map { |sample| [sample.median, sample.most] }
      .map { |value| format("%.1f", value) }
  ]
end

Bench.section("busy_thread", "Beside a busy thread") do |section|
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs of #{SECONDS} s. A C program sends messages of #{SIZE} B
    over tcp at full speed, each with a timestamp of the machine's monotonic clock. The high-water
    mark is #{HWM} at both ends. Beside the receiver a Ruby thread counts without pause (Ruby's time
    slice is 100 ms).

    * Gap: the longest time between two messages in the receiver, of a run.
    * Age: the highest age of a message at its arrival, of a run. The sender keeps every queue full,
      so the age is mostly the time that the queues take at this rate.
    * #{PIPE}: a C program fills a pipe in the same way. The same process reads the pipe beside the
      same busy thread, after the messages.
  MARKDOWN
  contest = Bench::Contest.new("busy_thread")
  CONTENDERS.each { |label, (kind, *further)| contest.add(label, kind) { run_once(kind, further) } }
  results = contest.run(Bench.runs(RUNS))
  rows = results.map { |label, figures| row(label, figures) }
  rows << row(PIPE, results[RECV], "pipe_") if results.key?(RECV)
  section.table [
    "", "messages/s", "worst gap, ms: median", "highest", "worst age, ms: median", "highest"
  ],
    rows
  section.absent(contest.absent)
  mine = results[RECV]
  section.target "#{RECV}: messages/s", mine&.dig(:rate)&.median, at_least: 50_000, digits: 0
  section.target "#{RECV}: worst gap of a run, ms (median of the runs)",
    mine&.dig(:gap_ms)&.median,
    at_most: 120,
    digits: 1
end
