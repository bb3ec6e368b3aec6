# frozen_string_literal: true

# What does a record cost its writer, how many come through, and how many does the broadcaster pass
# on? See support/bench.rb for what narrows a run.
require_relative "support/bench"

RUNS = 5
CALLS = 200_000 / (Bench.quick? ? 20 : 1)
RECORDS = 480_000 / (Bench.quick? ? 20 : 1)
WRITERS = Bench.quick? ? [1, 3] : [1, 3, 8]
SLOW = 3_000 / (Bench.quick? ? 20 : 1)
READERS = Bench.quick? ? [1] : [1, 10]

NULL = "::Logger to an opened /dev/null"
FILE = "::Logger to a file"
SEMANTIC = "semantic_logger to a file"
WAY = "::Logger whose device sends each line"
RECORD = "Godwit::Logger"
PLAIN = "Godwit::Logger, wire: :plain"
FULL = "Godwit::Logger, no reader"

def godwit(role, *arguments) = [*Bench::Programs.command(:godwit, role), *arguments]

def figures(fields, *keys) = keys.to_h { |key| [key, fields.fetch(key.to_s)] }

# One process that calls `info`; for those that send, a reader beside.
def calls(command, how = nil)
  Bench::Child.together do |start|
    # It is ended with the run: how many come it does not know, where some are dropped.
    target =
      how ? start.call(*godwit(:log_reader, how, 1_000_000_000, "tcp://127.0.0.1:*")).ready : nil
    fields = start.call(*command.map { |word| (word == :target) ? target : word }).result
    figures(fields, "calls", "cpu_ns", "p50_us", "p99_us").transform_keys(&:to_sym).merge(
      rss: (fields["rss_kib"] - fields["bare_kib"]) / 1024.0, dropped: fields["dropped"] || 0
    )
  end
end

def call_contest(folder)
  contest = Bench::Contest.new("logger, one call")
  own = Bench::Programs.command(:godwit, :log_calls)
  contest.add(NULL, :godwit) { calls([*own, "null", CALLS]) }
  contest.add(FILE, :godwit) { calls([*own, "file", CALLS, "#{folder}/ruby.log"]) }
  contest.add(SEMANTIC, :semantic_logger) do
    calls([*Bench::Programs.command(:semantic_logger, :log_calls), CALLS, "#{folder}/semantic.log"])
  end
  contest.add(WAY, :godwit) { calls([*own, "way", CALLS, :target], "lines") }
  contest.add(RECORD, :godwit) { calls([*own, "records", CALLS, :target], "fields") }
  contest.add(PLAIN, :godwit) { calls([*own, "plain", CALLS, :target], "lines") }
  # The port of `discard`, on which no socket listens.
  contest.add(FULL, :godwit) { calls([*own, "full", CALLS, "tcp://127.0.0.1:9"]) }
  contest.run(Bench.runs(RUNS))
end

# Some writers and one reader, end to end.
def through(kind, how, writers)
  each = RECORDS / writers
  Bench::Child.together do |start|
    role = (how == "file") ? %i[log_file] : [:log_reader, how]
    reader = start.call(*godwit(*role, each * writers, "tcp://127.0.0.1:*"))
    endpoint = reader.ready
    children = Array.new(writers) { start.call(*godwit(:log_writer, kind, each, endpoint)) }
    result = reader.result(children.first)
    children.each(&:release)
    results = children.map(&:result)
    {
      rate: result["rate"], reader_cpu: result["cpu_ns"],
      writer_cpu: results.sum { |fields| fields["cpu_ns"] } / writers,
      lost: each * writers - result["seen"],
      rss: results.map { |fields| fields["rss_kib"] - fields["bare_kib"] }.max / 1024.0
    }
  end
end

def through_contest
  contest = Bench::Contest.new("logger, end to end")
  contest.add([RECORD, "parsed", 1], :godwit) { through("records", "parsed", 1) }
  WRITERS.each do |writers|
    contest.add([RECORD, "fields", writers], :godwit) { through("records", "fields", writers) }
  end
  contest.add([RECORD, "numbers", 3], :godwit) { through("numbers", "fields", 3) }
  contest.add([RECORD, "file", 3], :godwit) { through("numbers", "file", 3) }
  contest.add([PLAIN, "lines", 1], :godwit) { through("plain", "lines", 1) }
  contest.add([WAY, "lines", 1], :godwit) { through("way", "lines", 1) }
  contest.run(Bench.runs(RUNS))
end

# Stored records through the broadcaster, to readers in C: nothing but it is Ruby at work. Then to
# Godwit's own reader.
def broadcast(readers, own: false)
  count = RECORDS / ((readers > 1) ? 4 : 1)
  Bench::Child.together do |start|
    input, output = start.call(*godwit(:log_broadcaster)).ready.split
    children = Array.new(readers) do
      start.call(
        *(
          if own
            godwit(:log_reader, "fields", count, output, "subscribe")
          else
            [*Bench::Programs.command(:c, :log_sub), output, count]
          end
        )
      )
    end
    children.each(&:ready)
    writer = start.call(*godwit(:log_writer, "stored", count, input))
    results = children.map { |child| child.result(writer) }
    writer.release
    writer.result
    {
      rate: results.sum { |fields| fields["rate"] } / readers,
      lost: results.sum { |fields| count - fields["seen"] } * 100.0 / count / readers
    }
  end
end

def broadcast_contest
  contest = Bench::Contest.new("logger, broadcaster")
  READERS.each { |readers| contest.add(["C", readers], :godwit) { broadcast(readers) } }
  contest.add(["Godwit's Reader", 1], :godwit) { broadcast(1, own: true) }
  contest.run(Bench.runs(RUNS))
end

# One writer that sends as fast as it can, and three that do not: how late do theirs come?
def fair
  Bench::Child.together do |start|
    reader = start.call(*godwit(:log_fair, SLOW, "tcp://127.0.0.1:*"))
    endpoint = reader.ready
    start.call(*godwit(:log_writer, "records", 1_000_000_000, endpoint)) # ended with the run
    slow = start.call(*godwit(:log_slow, 3, SLOW, reader.ready))
    figures(reader.result(slow), "rate", "p50_us", "p99_us", "most_us").transform_keys(&:to_sym)
  end
end

def fair_contest
  contest = Bench::Contest.new("logger, fairness")
  contest.add(RECORD, :godwit) { fair }
  contest.run(Bench.runs(RUNS)).fetch(RECORD)
end

def kilo(sample) = format("%.1f k", sample.median / 1e3)

def number(sample, digits = 0) = format("%.#{digits}f", sample.median)

def ratio(results, label, base, key)
  over, under = [label, base].map { |name| results.dig(name, key)&.median }
  over / under if over && under
end

# What a reader reads of each record.
READ = {
  "fields" => "level, program and number read", "numbers" => "the same; two numbers, no tag",
  "file" => "into the file of `log serve`; two numbers, no tag", "parsed" => "everything read",
  "lines" => "as they come"
}.freeze

Bench.section("logger", "Logger: records from writers to readers") do |section|
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs, medians. A record is a text of 100 B; with Godwit::Logger
    and semantic_logger it also has a tag and two values. A line is the text alone, as Ruby's Logger
    formats it. `bench/compare.rb COMMIT` measures the records of two numbers beside an earlier
    commit. CPU: nanoseconds per record of the whole process, including the sender and libzmq's
    threads. Memory: above that of a newly started Ruby. Godwit's settings are the defaults.
  MARKDOWN
  section.heading "One call of info"
  results = Dir.mktmpdir("godwit-bench") { |folder| call_contest(folder) }
  section.table ["", "calls/s", "p50, µs", "p99, µs", "CPU, ns", "memory, MiB", "dropped"],
    results.map { |label, figures|
      [
        label, kilo(figures[:calls]), number(figures[:p50_us], 2), number(figures[:p99_us], 1),
        number(figures[:cpu_ns]), number(figures[:rss], 1), number(figures[:dropped])
      ]
    }
  section.heading "End to end, one reader"
  flows = through_contest
  section.table ["", "writers", "records/s", "CPU of a writer, ns", "CPU of the reader, ns",
    "lost", "memory of a writer, MiB"], flows.map { |(label, how, writers), figures|
                                          [
                                            "#{label}, #{READ.fetch(how)}",
                                            writers, kilo(figures[:rate]),
                                            number(figures[:writer_cpu]),
                                            number(figures[:reader_cpu]), number(figures[:lost]),
                                            number(figures[:rss], 1)
                                          ]
                                        }
  section.heading "Broadcaster"
  section.text "Records encoded beforehand, at the rate that a PUSH accepts. Rate: the records of " \
    "one reader. A PUB drops the records that a reader does not take in time."
  passed = broadcast_contest
  section.table ["reader", "readers", "records/s each", "lost, %"],
    passed.map { |(label, readers), figures|
      [label, readers, kilo(figures[:rate]), number(figures[:lost], 1)]
    }

  section.heading "A writer that floods, three slow ones, one reader"
  section.text "The delay of the slow writers' records, from `info` to the reader's block."
  late = fair_contest
  section.table ["records/s of all", "p50, ms", "p99, ms", "the latest, ms"],
    [
      [
        kilo(late[:rate]),
        *%i[p50_us p99_us most_us].map { |key| format("%.1f", late[key].median / 1e3) }
      ]
    ]

  section.target "median of one info, of ::Logger's to /dev/null",
    ratio(results, RECORD, NULL, :p50_us),
    at_most: 1.0,
    digits: 2
  section.target "CPU of a writer per record, of ::Logger's to /dev/null",
    ratio(results, RECORD, NULL, :cpu_ns),
    at_most: 2.5,
    digits: 2
  section.target "no reader: p99 of info, µs",
    results.dig(FULL, :p99_us)&.median,
    at_most: 50,
    digits: 1
  section.target "no reader, queue at its bound: MiB above a bare Ruby",
    results.dig(FULL, :rss)&.median,
    at_most: 20,
    digits: 1
  WRITERS.each do |writers|
    section.target "records/s in sum, #{writers} #{(writers == 1) ? "writer" : "writers"}",
      flows.dig([RECORD, "fields", writers], :rate)&.median,
      at_least: 100_000,
      digits: 0
  end
  numbers = flows.fetch([RECORD, "numbers", 3], {})
  section.target "records/s in sum, 3 writers, two numbers",
    numbers[:rate]&.median, at_least: 150_000, digits: 0
  section.target "the same, CPU of a writer per record, ns",
    numbers[:writer_cpu]&.median, at_most: 8_000, digits: 0
  section.target "the same, CPU of the reader per record, ns",
    numbers[:reader_cpu]&.median, at_most: 5_000, digits: 0
  section.target "the same into the file of `log serve`, records/s",
    flows.dig([RECORD, "file", 3], :rate)&.median,
    at_least: 150_000,
    digits: 0
  section.target "records lost in these runs",
    flows
      .select { |(label, *), _| label == RECORD }
      .values
      .sum { |figures| figures[:lost].most },
    at_most: 0,
    digits: 0
  section.target "beside a writer that floods: the latest of a slow one's records, ms",
    late[:most_us].median / 1e3,
    at_most: 100,
    digits: 1
  section.target "broadcaster, records/s to one reader",
    passed.dig(["C", 1], :rate)&.median,
    at_least: 100_000,
    digits: 0
end
