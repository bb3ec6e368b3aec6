# frozen_string_literal: true

# What does a Loop cost, compared with a hand-written loop around a Poller, and a timer among many?
# See support/bench.rb for what narrows a run.
require_relative "support/bench"

RUNS = 7
COUNT = Bench.quick? ? 2_000 : 300_000
LOOPS = {
  "Poller, by hand" => "poller", "Loop" => "loop", "Loop with 10,000 timers" => "loop_timers"
}.freeze
TIMERS = Bench.quick? ? [100, 1_000] : [100, 1_000, 10_000, 100_000]
PARTS = {making: "make", cancelling: "cancel", firing: "fire"}.freeze

def contest(name, contenders)
  contest = Bench::Contest.new(name)
  contenders.each do |label, (role, argument)|
    contest.add(label, :godwit) do
      Bench::Child.result(*Bench::Programs.command(:godwit, role), *argument).transform_keys(
        &:to_sym
      )
    end
  end
  contest.run(Bench.runs(RUNS))
end

Bench.section("loop", "Loop and timers") do |section|
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs, medians. Messages of 100 B over inproc in one thread, each
    waited for and received on its own: what a turn costs. Then the microseconds that it takes to
    make, to cancel and to fire one of many timers.
  MARKDOWN
  loops = contest("loop", LOOPS.transform_values { |what| [:loop, [what, COUNT]] })
  section.table ["", "messages/s"],
    loops.map { |label, figures| [label, format("%.0f", figures[:rate].median)] }
  timers = contest("timers", TIMERS.to_h { |count| [count, [:timers, [count]]] })
  section.table ["timers", *PARTS.values.map { |part| "#{part}, µs" }],
    timers.map { |count, figures|
      [count, *PARTS.keys.map { |part| format("%.2f", figures[part].median) }]
    }
  poller, loop, loop_timers = LOOPS.keys.map { |label| loops.dig(label, :rate)&.median }
  section.target "Loop: messages a second, of a Poller by hand", loop / poller, at_least: 0.5
  section.target "Loop: the same with 10,000 timers, of the Loop without",
    loop_timers / loop,
    at_least: 0.7
  PARTS.each do |part, word|
    few, many = timers.values.values_at(0, -1).map { |figures| figures[part].median }
    section.target "a hundred (in a whole run a thousand) times as many timers: to #{word} one " \
      "takes so many times as long",
      many / few,
      at_most: 10,
      digits: 1
  end
end
