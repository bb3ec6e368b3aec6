# frozen_string_literal: true

require "fileutils"
require "io/wait"
require "json"
require "rbconfig"
require "socket"
require "tmpdir"

# The benchmarks' own small library. Each file of bench/ asks one question:
#
#     Bench.section("latency", "REQ and REP: round trips") { |section| … }
#
# BENCH_QUICK=1 is the short form: it shows that everything runs, its figures say nothing.
# BENCH_RUNS=3 BENCH_ONLY=c,godwit BENCH_SIZES=100 BENCH_TRANSPORTS=tcp narrow a run for a look at
# one thing. Only a whole run writes RESULTS.md.
module Bench
  ROOT = File.expand_path("../..", __dir__)
  FOLDER = File.join(ROOT, "bench")
  BUILD = File.join(FOLDER, "build")

  # A program could not be built, failed, or took longer than it may.
  class Failure < StandardError; end

  module_function

  def quick? = !ENV.fetch("BENCH_QUICK", "").empty?

  # Whether this run covers all that RESULTS.md shows.
  def whole?
    !quick? &&
      %w[BENCH_RUNS BENCH_ONLY BENCH_SIZES BENCH_TRANSPORTS].none? { |name| ENV.key?(name) }
  end

  # How often each contender runs, alternating with the others.
  def runs(full) = Integer(ENV.fetch("BENCH_RUNS") { quick? ? 1 : full })

  def transports(all) = all & ENV.fetch("BENCH_TRANSPORTS", all.join(",")).split(",")

  # The short form does not need all sizes to show that everything runs.
  def sizes(all, quick:)
    if ENV.key?("BENCH_SIZES")
      return all & ENV["BENCH_SIZES"].split(",").map { |text| Integer(text) }
    end
    quick? ? quick : all
  end

  def kinds = ENV["BENCH_ONLY"]&.split(",")&.map(&:to_sym)

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # Waits for a server on a port of this machine.
  # @yieldreturn [Boolean] whether its process lives
  # @return [Boolean] whether it listens
  def listens?(port, seconds)
    deadline = now + seconds
    begin
      ::Socket.tcp("127.0.0.1", port).close
      true
    rescue Errno::ECONNREFUSED
      return false if now > deadline || !yield
      sleep 0.02
      retry
    end
  end

  # A folder for the sockets of ipc, gone afterwards.
  def endpoints
    Dir.mktmpdir("godwit-bench") { |folder| yield endpoints_in(folder) }
  end

  # @param folder [String] for the sockets of ipc
  # @return [Proc] gives a new endpoint of a transport
  def endpoints_in(folder)
    number = 0
    lambda { |transport|
      case transport
      when "tcp" then "tcp://127.0.0.1:*"
      when "ipc" then "ipc://#{folder}/#{number += 1}"
      when "inproc" then "inproc://bench"
      end
    }
  end

  # @return [String] messages a second, such as "1.60 M" or "153.8 k"
  def rate(value) = (value >= 1e6) ? format("%.2f M", value / 1e6) : format("%.1f k", value / 1e3)

  # @param machine [#date, #line, #versions, #libzmqs] that runs the contenders
  def section(name, title, machine: Machine)
    section = Section.new(name, title, machine)
    yield section
    section.finish
  rescue Failure => e
    abort "bench/#{name}.rb: #{e.message}"
  end
end

require_relative "machine"
require_relative "child"
require_relative "programs"
require_relative "contest"
require_relative "section"
