# frozen_string_literal: true

require "fiddle"
require "godwit"
require "json"
require_relative "../../support/waiters"

Object.include Godwit::TestSupport::Waiters

# Shared by the soak programs. A program repeats one task, and measures its memory ten times, first
# after a fifth of the rounds: until then heaps and pools grow.
module Soak
  MB = 1_000_000.0
  SAMPLES = 10
  DESCRIPTORS = 2 # by so much the number of open descriptors may grow
  TRIM =
    Fiddle::Function.new(
      Fiddle::Handle::DEFAULT["malloc_trim"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_INT
    )

  module_function

  # Runs the block `rounds` times, prints one line of figures and ends the process.
  # @param limit [Numeric] MB by which memory may grow from the first to the last three measurements
  # @param settle [Proc, nil] called before each measurement: waits for work of libzmq's threads
  def flat(name, rounds:, limit:, settle: nil)
    started = now
    first = nil
    sizes = []
    marks =
      Array.new(SAMPLES) { |number| rounds / 5 + (rounds - rounds / 5) * number / (SAMPLES - 1) }
    rounds.times do |round|
      yield round
      next unless marks.first <= round + 1
      marks.shift
      settle&.call
      sizes << held
      first ||= open_descriptors(nil)
    end
    growth = median(sizes.last(3)) - median(sizes.first(3))
    left = open_descriptors(first + DESCRIPTORS) - first
    ok = growth <= limit && left <= DESCRIPTORS
    say(
      name, ok, rounds: rounds, growth_mb: growth.round(2), limit_mb: limit,
      held_mb: sizes.map { |size| size.round(1) }, peak_mb: peak.round(1), descriptors_more: left,
      seconds: (now - started).round(1)
    )
  end

  def say(name, ok, **figures)
    puts JSON.generate({program: name, ok: ok, **figures})
    $stdout.flush
    exit!(ok ? 0 : 1)
  end

  # @return [Float] MB of memory in use. malloc first returns unused memory to the system: the size
  #   of that memory depends on how many arenas the threads happen to use.
  def held
    2.times { GC.start }
    TRIM.call(0)
    File.read("/proc/self/statm").split[1].to_i * 4096 / MB
  end

  def peak = File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1].to_i * 1024 / MB

  # Waits up to five seconds until at most `target` descriptors are open: libzmq's thread and the
  # collector close some late.
  # @return [Integer] the number of open descriptors
  def open_descriptors(target)
    finish = now + (target ? 5 : 0.5)
    loop do
      GC.start
      count = Dir.children("/proc/self/fd").size - 1
      return count if (target && count <= target) || now > finish
      sleep(POLL)
    end
  end

  def median(numbers) = numbers.sort[numbers.size / 2]

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # @return [Integer] rounds: `short` if the program's argument is "short", else the number that is
  #   the argument, or `long` without an argument
  def rounds(long:, short:) = (ARGV.first == "short") ? short : Integer(ARGV.first || long)
end
