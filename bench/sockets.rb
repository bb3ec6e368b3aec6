# frozen_string_literal: true

# What do sockets cost: idle, opened and closed, over millions of messages, in two Ractors? See
# support/bench.rb for what narrows a run.
require_relative "support/bench"

RUNS = 5
IDLE = Bench.quick? ? 50 : 2_000
CHURN = Bench.quick? ? 100 : 3_000
CLOSED = Bench.quick? ? 300 : 10_000
MESSAGES = Bench.quick? ? 20_000 : 10_000_000
MOVED = {100 => 400_000, 65_536 => 12_000}.freeze
TRANSPORTS = %w[inproc tcp].freeze
MB = 1e6

def job(*arguments)
  Bench::Child.result(*Bench::Programs.command(:godwit, :sockets), *arguments).transform_keys(
    &:to_sym
  )
end

def c(*arguments)
  Bench::Child.result(*Bench::Programs.command(:c, :sockets), *arguments).transform_keys(&:to_sym)
end

def run(name, contenders)
  contest = Bench::Contest.new(name)
  contenders.each { |label, (kind, once)| contest.add(label, kind, &once) }
  contest.run(Bench.runs(RUNS))
end

def megabytes(bytes) = format("%.1f", bytes / MB)

def row(results, key, format, *labels)
  medians = labels.map { |label| results[label] && results[label][key].median }
  [
    *medians.map { |value| value ? format(format, value) : "-" },
    medians.all? ? format("%.2f", medians[1] / medians[0]) : "-"
  ]
end

Bench.section("sockets", "Sockets: memory, churn, Ractors") do |section|
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs. The resident memory of #{MESSAGES} messages and of
    #{CLOSED} sockets is from one run each. Idle: resident bytes per DEALER of #{IDLE} idle ones,
    including libzmq's part. Churn: #{CHURN} times create a PUSH, connect, send, close, receive.
    Messages: batches of 100 with 0 to 5,000 B and one of 70,000 B sent in place, received
    alternately as Strings and as frames.
  MARKDOWN
  idle =
    run(
      "sockets, idle", "C" => [:c, -> { c("idle", IDLE) }],
      "godwit" => [:godwit, -> { job("idle", IDLE) }]
    )
  churn = TRANSPORTS.to_h do |transport|
    endpoint = (transport == "inproc") ? "inproc://churn" : "tcp://127.0.0.1:*"
    [
      transport,
      run(
        "sockets, churn over #{transport}", "C" => [:c, -> { c("churn", endpoint, CHURN) }],
        "godwit" => [:godwit, -> { job("churn", endpoint, CHURN) }]
      )
    ]
  end
  section.table ["", "C", "godwit", "ratio to C"],
    [
      ["bytes for an idle socket", *row(idle, :bytes, "%.0f", "C", "godwit")],
      *churn.map { |transport, results|
        [
          "churn over #{transport}, cycles/s", *row(results, :rate, "%.0f", "C", "godwit")
        ]
      }
    ]

  section.heading "Two threads of one Ractor, and two Ractors"
  section.table ["messages/s", "one Ractor", "two Ractors", "ratio"],
    TRANSPORTS.flat_map { |transport|
      endpoint = (transport == "inproc") ? "inproc://moved" : "tcp://127.0.0.1:*"
      Bench.sizes(MOVED.keys, quick: [100]).map do |size|
        count = MOVED[size] / (Bench.quick? ? 40 : 1)
        results =
          run(
            "sockets, Ractors over #{transport}, #{size} B",
            "one" => [:godwit, -> { job("together", endpoint, size, count).slice(:rate) }],
            "two" => [:godwit, -> { job("apart", endpoint, size, count).slice(:rate) }]
          )
        ["#{transport}, #{size} B", *row(results, :rate, "%.0f", "one", "two")]
      end
    }

  section.heading "Resident memory"
  section.text <<~MARKDOWN
    libzmq frees a closed socket on its own thread. If a program closes sockets faster, they
    accumulate, in plain C as well, and malloc keeps their memory. "After `malloc_trim`" shows the
    memory that is still in use.
  MARKDOWN
  flow = job("rss", MESSAGES)
  rows = {"C" => c("closed", CLOSED), "godwit" => job("closed", CLOSED)}
  section.table ["MB", "before", "after", "after malloc_trim"],
    [
      [
        "godwit: #{MESSAGES} messages (from a tenth on)",
        *flow.values_at(:before, :after).map { |bytes| megabytes(bytes) }, "-"
      ],
      *rows.map { |label, figures|
        [
          "#{label}: #{CLOSED} sockets opened and closed",
          *figures.values_at(:before, :after, :trimmed).map { |bytes| megabytes(bytes) }
        ]
      }
    ]
  section.target "MB that #{MESSAGES} messages leave",
    (flow[:after] - flow[:before]) / MB,
    at_most: 5,
    digits: 1
  section.target "MB in use that #{CLOSED} sockets opened and closed leave",
    (rows["godwit"][:trimmed] - rows["godwit"][:before]) / MB,
    at_most: 5,
    digits: 1
end
