# frozen_string_literal: true

# How many records a second does godwit-work write to Kafka and handle, how soon, and in how much
# memory? See support/bench.rb for what narrows a run.
require_relative "support/work_runs"

RUNS = 3
QUICK = Bench.quick?
# Records of a run.
CONSUMED = QUICK ? 5_000 : 1_000_000
CONSUMED_SLOW = QUICK ? 2_000 : 200_000
PRODUCED = QUICK ? 2_000 : 300_000
PRODUCED_SLOW = QUICK ? 1_000 : 20_000
SLEPT = QUICK ? 1_000 : 40_000
DELAYED = QUICK ? 22 : 550
RATE = 50 # a second
PARTITIONS = [1, 5].freeze
GRID = QUICK ? [1] : (1..5).to_a # topics, and workers, of Karafka
SLEEPERS = 16_000 # records a second at most: 16 workers that sleep for 1 ms

C_BATCH = "C, rd_kafka_consume_batch_queue"
BLOCKS = "Godwit, blocks, each value as a String"
CONSUME = "Godwit, consume"
PERFORM = "Godwit, perform by partition"
POLL = "karafka-rdkafka, poll"
KARAFKA = "Karafka, its fastest cell"
SLEEP = "Godwit, perform by key, 16 workers, 1 ms of sleep"
MANY = "Godwit, produce_many of 1,000"
C_MANY = "C, 1,000 at a time"
WATERDROP = "WaterDrop, produce_many_sync of 1,000"
DELAYS = "Godwit, perform"
C_DELAYS = "C, rd_kafka_consumer_poll"

def contest(name)
  contest = Bench::Contest.new("work on Kafka, #{name}")
  yield contest
  results = contest.run(Bench.runs(RUNS))
  [results, contest.absent]
end

def write(place, topic, count, partitions: 1, how: "many")
  result(:work_kafka, :produce, "kafka://#{place}", how, count, "raw", partitions, topic)
end

# Consumes with Karafka from so many topics of the grid.
def cell(place, topics, workers)
  names = Array.new(topics) { |number| "grid-#{number + 1}" }.join(",")
  handled(:karafka, place, CONSUMED_SLOW, "raw", group, names, workers)
end

# @return [Hash{Array(Integer, Integer) => Float}] topics and workers => records a second
def grid(place)
  return {} if Bench::Contest.missing(:karafka)
  GRID.each { |number| write(place, "grid-#{number}", CONSUMED_SLOW + 1_000) }
  GRID.product(GRID).to_h do |topics, workers|
    warn "Karafka: topics #{topics}, workers #{workers}"
    [[topics, workers], cell(place, topics, workers)[:rate]]
  end
end

def consume_contest(place, partitions, cells)
  topic = "bench-#{partitions}"
  url = "kafka://#{place}"
  write(place, topic, CONSUMED, partitions: partitions)
  contest("consume, partitions: #{partitions}") do |contest|
    contest.add(C_BATCH, :c_kafka) { handled(:c_kafka, place, topic, CONSUMED, role: :batch) }
    if partitions == 1
      contest.add(BLOCKS, :work_kafka) do
        handled(:work_kafka, url, CONSUMED, topic, role: :blocks)
      end
    end
    {CONSUME => "consume", PERFORM => "partition"}.each do |label, how|
      contest.add(label, :work_kafka) do
        handled(:work_kafka, url, how, CONSUMED, "raw", group, topic)
      end
    end
    contest.add(POLL, :rdkafka) { handled(:rdkafka, place, CONSUMED, group, topic) }
    contest.add(KARAFKA, :karafka) { cell(place, *cells.max_by(&:last).first) }
  end
end

def sleep_contest(place)
  write(place, "keys", SLEPT, partitions: 5, how: "keys")
  contest("perform by key") do |contest|
    contest.add(SLEEP, :work_kafka) do
      handled(:work_kafka, "kafka://#{place}", "sleep", SLEPT, "raw", group, "keys")
    end
  end
end

def produce_contest(place)
  contest("produce") do |contest|
    contest.add(MANY, :work_kafka) { {rate: write(place, "written", PRODUCED)["rate"]} }
    contest.add(C_MANY, :c_kafka) do
      handled(:c_kafka, place, "written-c", PRODUCED, role: :produce)
    end
    contest.add(WATERDROP, :waterdrop) do
      {rate: result(:waterdrop, :produce, place, PRODUCED_SLOW, "written-waterdrop")["rate"]}
    end
  end
end

# Each run has a topic of its own, which the consumer reads from its first record on.
def delay_contest(place)
  url = "kafka://#{place}"
  contest("latency") do |contest|
    {DELAYS => :work_kafka, C_DELAYS => :c_kafka}.each do |label, kind|
      contest.add(label, kind) do
        topic = "delays-#{group}"
        write(place, topic, 0)
        sender = [*Bench::Programs.command(:work_kafka, :stamps), url, DELAYED, RATE, topic]
        if kind == :c_kafka
          handled(kind, place, topic, DELAYED, role: :poll) { sender }
        else
          handled(kind, url, "delays", DELAYED, "raw", group, topic) { sender }
        end
      end
    end
  end
end

def show_grid(section, cells)
  return if cells.empty?
  section.heading "Karafka by topics and workers, one run, records/s"
  rows = GRID.map do |topics|
    [topics, *GRID.map { |workers| format("%.1f k", cells[[topics, workers]] / 1e3) }]
  end
  section.table ["topics", *GRID.map { |workers| "workers: #{workers}" }], rows
end

Bench.section("work_kafka", "Work: consumers on Kafka") do |section|
  reason = Bench::WorkContenders.missing_kafka
  next section.text("Not measured: #{reason}.") if reason
  Bench::WorkContenders.install unless QUICK
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs on one broker, medians; each contender runs in a process of
    its own. Values have 100 bytes, each handler reads a byte of each, and offsets are committed.
    Versions: #{Bench::WorkContenders.versions}.
  MARKDOWN
  Bench::WorkContenders.kafka do |place|
    cells = grid(place)
    show_grid(section, cells)
    consumed, absent = PARTITIONS.to_h { |number|
      [number, consume_contest(place, number, cells)]
    }.then { |all| [all.transform_values(&:first), all.values.first.last] }
    consumed.each do |partitions, results|
      section.heading "Consume, partitions: #{partitions}"
      rates(section, results, absent)
    end
    slept, = sleep_contest(place)
    produced, missing = produce_contest(place)
    section.heading "Perform by key, and produce"
    rates(section, slept.merge(produced), missing)
    delayed, = delay_contest(place)
    section.heading "Latency from produce to handler, #{RATE} records a second, two processes"
    delays_table(section, delayed)
    one = consumed.fetch(1)
    section.heading "Highest memory of the consumer's process, MiB"
    section.table ["", "MiB"], [CONSUME, POLL].filter_map { |label|
      [label, number(one[label][:peak], 0)] if one.key?(label)
    }

    section.target "blocks, of the C batch loop",
      ratio(one, BLOCKS, C_BATCH), at_least: 0.5, digits: 2
    {KARAFKA => 10, POLL => 5, C_BATCH => 0.2}.each do |label, goal|
      section.target "consume, of #{label}",
        ratio(one, CONSUME, label), at_least: goal, digits: 2
    end
    section.target "perform by partition, of Karafka",
      ratio(one, PERFORM, KARAFKA), at_least: 6, digits: 1
    section.target "perform by key with sleep, of #{SLEEPERS} records/s",
      slept.dig(SLEEP, :rate)&.median&./(SLEEPERS), at_least: 0.5, digits: 2
    {C_MANY => 0.33, WATERDROP => 10}.each do |label, goal|
      section.target "produce_many, of #{label}",
        ratio(produced, MANY, label), at_least: goal, digits: 2
    end
    section.target "latency, p50, of C",
      ratio(delayed, DELAYS, C_DELAYS, :p50_ms), at_most: 2, digits: 2
    section.target "highest RSS of consume, of karafka-rdkafka's poll",
      ratio(one, CONSUME, POLL, :peak), at_most: 1.5, digits: 2
  end
end
