# frozen_string_literal: true

# godwit_timers.rb COUNT: microseconds to make, to cancel and to fire one of COUNT timers.
require_relative "common"
require "godwit"

count = Integer(ARGV[0])
rounds = 20_000
random = Random.new(1)
now = 0.0
timers = Godwit::Timers.new(clock: -> { now })
all = Array.new(count) { timers.after(random.rand(1000.0)) {} }
times = Array.new(rounds) { random.rand(1000.0) }

clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
start = clock.call
made = times.map { |time| timers.after(time) {} }
making = clock.call - start
made.shuffle!(random: random)
start = clock.call
made.each(&:cancel)
cancelling = clock.call - start
all.each(&:cancel)
# The timers fire one after the other. Each is set again, so their number stays constant.
count.times { |number| timers.every(count, times: nil) {}.tap { now = (number + 1).to_f } }
start = clock.call
rounds.times do
  now += 1
  timers.fire
end
firing = clock.call - start
Common.say(
  making: making / rounds * 1e6, cancelling: cancelling / rounds * 1e6,
  firing: firing / rounds * 1e6
)
