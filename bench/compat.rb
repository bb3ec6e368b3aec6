# frozen_string_literal: true

# The cost of a compatibility layer: old programs' classes beside Godwit's own. See support/bench.rb
# for what narrows a run.
require_relative "support/bench"

RUNS = 7
SIZE = 100
COUNT = 1_500_000 / (Bench.quick? ? 20 : 1)
LINES = 200_000 / (Bench.quick? ? 20 : 1)

OWNER_THREAD = "Godwit's own"
BOTH = "ZMQ::Socket, both sides"
SENDING = "ZMQ::Socket to Godwit's PULL"
RECEIVING = "Godwit's PUSH to ZMQ::Socket"
PAIRS = {
  OWNER_THREAD => %i[godwit godwit], BOTH => %i[rbczmq rbczmq], SENDING => %i[rbczmq godwit],
  RECEIVING => %i[godwit rbczmq]
}.freeze

OWN_LOGGER = "::Logger, a device that calls PUSH#send"
OLD_LOGGER = "ZMQ::Logger"

def messages
  contest = Bench::Contest.new("compat, tcp, #{SIZE} B")
  Bench.endpoints do |next_endpoint|
    PAIRS.each do |label, (sender, receiver)|
      contest.add(label, sender, receiver) do
        pull, push =
          Bench::Child.pair(
            Bench::Programs.command(receiver, :pull), Bench::Programs.command(sender, :push),
            next_endpoint.call("tcp"), SIZE, COUNT, COUNT / 10
          )
        {rate: pull["rate"], send_cpu: push["cpu_ns"], recv_cpu: pull["cpu_ns"]}
      end
    end
    contest.run(Bench.runs(RUNS))
  end
end

def loggers
  contest = Bench::Contest.new("compat, loggers")
  {OWN_LOGGER => :godwit, OLD_LOGGER => :rbczmq}.each do |label, kind|
    contest.add(label, kind) do
      {cpu: Bench::Child.result(*Bench::Programs.command(kind, :logger), LINES)["cpu_ns"]}
    end
  end
  contest.run(Bench.runs(RUNS))
end

def share(results, label, base, key)
  if results.key?(label) && results.key?(base)
    results[label][key].median / results[base][key].median
  end
end

Bench.section("compat", "Compatibility layers: their cost") do |section|
  results = messages
  section.text "rbczmq's layer, PUSH to PULL between two processes, #{SIZE} B over " \
    "tcp, #{Bench.runs(RUNS)} alternating runs. CPU: nanoseconds per message of " \
    "the whole process, libzmq's own thread included."
  section.table ["", "messages/s", "of Godwit's own", "CPU sending", "CPU receiving"],
    results.map { |label, figures|
      [
        label, format("%.0f", figures[:rate].median),
        share(results, label, OWNER_THREAD, :rate)&.then { |value| format("%.2f", value) } || "-",
        *%i[send_cpu recv_cpu].map { |key| format("%.0f", figures[key].median) }
      ]
    }
  logs = loggers
  section.text "A line of a log into a PUSH over inproc: nanoseconds of CPU, #{Bench.runs(RUNS)} " \
    "alternating runs."
  section.table ["", "CPU a line"],
    logs.map { |label, figures| [label, format("%.0f", figures[:cpu].median)] }
  PAIRS
    .each_key
    .drop(1)
    .each do |label|
      section.target "tcp, #{SIZE} B: #{label}, of Godwit's own",
        share(results, label, OWNER_THREAD, :rate),
        at_least: 0.75
    end
  section.target "ZMQ::Logger, times the other",
    share(logs, OLD_LOGGER, OWN_LOGGER, :cpu),
    at_most: 1.1
end
