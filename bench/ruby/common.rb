# frozen_string_literal: true

require "json"

# What the Ruby programs of the benchmarks share: clocks, arguments, the lines that they print. They
# print what the C programs print.
module Common
  # How many messages cross at once in the batch forms.
  BATCH = 256

  # Sizes and counts of a run, as every program takes them: ENDPOINT SIZE COUNT [WARMUP], and
  # the form: nil, strings, batches or frames.
  Run = Struct.new(:endpoint, :size, :count, :warmup, :form) do
    # @return [String] frozen for frames: Godwit sends a frozen String in place
    def payload = (form == "frames") ? ("x" * size).freeze : "x" * size

    def total = warmup + count
  end

  module_function

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

  # CPU time of the whole process, libzmq's own threads included. JRuby knows it by the tick.
  def cpu
    if defined?(Process::CLOCK_PROCESS_CPUTIME_ID)
      return Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)
    end
    times = Process.times
    ((times.utime + times.stime) * 1e9).round
  end

  def run(arguments)
    usage =
      "usage: #{File.basename($PROGRAM_NAME)} ENDPOINT SIZE COUNT [WARMUP=0] [strings|batches]"
    abort usage unless (3..5).cover?(arguments.size)
    Run.new(
      arguments[0], *arguments[1, 2].map { |text| Integer(text) }, Integer(arguments[3] || "0"),
      arguments[4]
    )
  end

  def ready(endpoint) = say(ready: endpoint)

  def say(fields)
    puts JSON.generate(fields)
    $stdout.flush
  end

  # See bench_hold in bench/c/bench.h.
  def hold
    $stdin.read if ENV["BENCH_HOLD"]
  end

  # Times the block, which gives the number of messages that it moved.
  def measure
    cpu_before = cpu
    start = now
    measured = yield
    seconds = (now - start) / 1e9
    {seconds: seconds, rate: measured / seconds, cpu_ns: (cpu - cpu_before) / measured.to_f}
  end

  # Checked once, after the clock has stopped.
  def check_size(message, size)
    unless message.bytesize == size
      abort "a message of #{message.bytesize} bytes came, not of #{size}"
    end
  end

  # Times round trips. The block makes so many, and stores the clock after each from place 1 on.
  def time_round_trips(run)
    yield [], run.warmup
    cpu_before = cpu
    stamps = Array.new(run.count + 1, now)
    yield stamps, run.count
    round_trips(stamps, cpu - cpu_before)
  end

  # Round trips: `stamps` holds the clock before the first and after each.
  def round_trips(stamps, cpu_ns)
    times = stamps.each_cons(2).map { |before, after| after - before }.sort
    {
      seconds: (stamps.last - stamps.first) / 1e9,
      mean_us: (stamps.last - stamps.first) / 1e3 / times.size, p50_us: percentile(times, 50),
      p99_us: percentile(times, 99), cpu_ns: cpu_ns / times.size.to_f
    }
  end

  # Nearest rank, in microseconds.
  def percentile(sorted, percent) = sorted[(sorted.size * percent + 99) / 100 - 1] / 1e3
end
