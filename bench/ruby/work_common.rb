# frozen_string_literal: true

require_relative "common"

# What the programs of bench/work.rb share: the values, the counts, the lines they print.
module WorkCommon
  SIZE = 100
  KEYS = 1_000
  CALL = 1_000
  WORKERS = 16
  PAGE = 4_096 # the default, also of Godwit

  module_function

  # Different values of 100 bytes.
  # @return [Array<String>]
  def values(format)
    Array.new(CALL) do |number|
      text = (format == "json") ? JSON.generate(object(number)) : number.to_s.ljust(SIZE, "v")
      text.b.freeze
    end
  end

  # 100 bytes as JSON.
  def object(number) = {"id" => number + 1_000, "name" => "n" * 60, "amount" => 123.45}

  # @return [Array<String>]
  def keys = Array.new(CALL) { |number| "key #{number % KEYS}".freeze }

  # @param place [String] a path of SQLite, or a URL
  def url(place) = place.include?("://") ? place : "sqlite:#{place}"

  # @return [Array(Float, Float)] MiB of this process's memory, and the most that it had
  def memory
    status = File.read("/proc/self/status")
    %w[VmRSS VmHWM].map { |name| status[/^#{name}:\s+(\d+)/, 1].to_i / 1024.0 }
  end

  # Counts what handlers touched, from the first to the last.
  class Tally
    def initialize(count, &ending)
      @left = count
      @count = count
      @ending = ending
    end

    # CRuby changes threads neither within nor between these few statements.
    def touch(bytes)
      @first ||= Common.now
      bytes.getbyte(0)
      return unless (@left -= 1).zero?
      say
    end

    # As {touch}, for a value that a format decoded.
    def touch_object(object)
      @first ||= Common.now
      object["id"]
      return unless (@left -= 1).zero?
      say
    end

    def say
      last = Common.now
      Common.say(rate: (@count - 1) * 1e9 / (last - @first), peak: WorkCommon.memory.last)
      @ending.call
    end
  end

  # The times from when a record was due to its handler.
  class Delays
    def initialize(count, &ending)
      @count = count
      @ending = ending
      @times = []
    end

    # @param value [String] begins with the time at which it was due, in nanoseconds
    def touch(value)
      now = Common.now
      @times << now - value.to_i
      return unless @times.size == @count
      times = @times.drop(@count / 10).sort # the first ones warm up
      p50, p99 = [50, 99].map { |percent| Common.percentile(times, percent) / 1e3 }
      Common.say(p50_ms: p50, p99_ms: p99)
      @ending.call
    end
  end

  # What a program's handlers call.
  def tally(how, count, &ending) = ((how == "delays") ? Delays : Tally).new(count, &ending)

  # Calls the block at a fixed rate with a value that says when it was due.
  def at_rate(count, rate)
    start = Common.now + 100_000_000
    count.times do |number|
      due = start + number * 1_000_000_000 / rate
      pause = (due - Common.now) / 1e9 - 0.001
      sleep pause if pause > 0
      nil until Common.now >= due
      yield due.to_s.ljust(SIZE, " ")
    end
  end
end
