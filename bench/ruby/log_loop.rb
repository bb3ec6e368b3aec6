# frozen_string_literal: true

# Before anything else is loaded: what a bare Ruby takes.
module Memory
  def self.rss_kib = File.read("/proc/self/status")[/^VmRSS:\s+(\d+)/, 1].to_i

  BARE_KIB = rss_kib
end

require "logger"
require_relative "common"

# What the programs of bench/logger.rb share: the record (100 B of text, one tag, two values
# beside), and the loops that write it.
module LogLoop
  TEXT =
    "card refused by the bank of the customer, who was told so and will try again with another " \
    "one today".ljust(
      100, "."
    )

  # Each takes a logger and writes one record; the text alone where a logger knows nothing else.
  PLAIN = ->(log) { log.info(TEXT) }
  FULL = ->(log) { log.info(TEXT, user: 42, order: "A-17") }

  # A device that sends each line, as the rbczmq way was.
  class Device
    def initialize(endpoint)
      @socket = Godwit::PUSH.connect(endpoint)
    end

    def write(line) = @socket.send(line)

    def close = @socket.close
  end

  # Both loops are alike but for what they call: a lambda between them and the logger would cost as
  # much as some of them.
  module_function

  def write_plain(log, count)
    written = 0
    while written < count
      log.info(TEXT)
      written += 1
    end
    count
  end

  def write_full(log, count)
    written = 0
    while written < count
      log.info(TEXT, user: 42, order: "A-17")
      written += 1
    end
    count
  end

  def write_numbers(log, count)
    written = 0
    while written < count
      log.info(TEXT, user: 42, cents: 1995)
      written += 1
    end
    count
  end

  def stamp_plain(log, times)
    times.size.times do |index|
      before = Common.now
      log.info(TEXT)
      times[index] = Common.now - before
    end
  end

  def stamp_full(log, times)
    times.size.times do |index|
      before = Common.now
      log.info(TEXT, user: 42, order: "A-17")
      times[index] = Common.now - before
    end
  end

  # Writes, and tells: calls a second, nanoseconds of CPU a record for all threads until the block
  # says that all is out, percentiles of one call.
  def run(log, count, full)
    kind = full ? "full" : "plain"
    __send__(:"write_#{kind}", log, count / 10)
    yield count / 10
    cpu = Common.cpu
    start = Common.now
    __send__(:"write_#{kind}", log, count)
    seconds = (Common.now - start) / 1e9
    yield count / 10 + count
    cpu = Common.cpu - cpu
    times = Array.new(count / 2, 0)
    __send__(:"stamp_#{kind}", log, times)
    times.sort!
    {
      calls: count / seconds, cpu_ns: cpu / count.to_f, p50_us: Common.percentile(times, 50),
      p99_us: Common.percentile(times, 99), rss_kib: Memory.rss_kib, bare_kib: Memory::BARE_KIB
    }
  end
end
