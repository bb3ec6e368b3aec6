# frozen_string_literal: true

# What the benchmarks of consumers share: programs that write and handle records, and figures.
require_relative "bench"

# @return [Hash{String => Object}] what a program printed
def result(kind, role, *arguments)
  Bench::Child.result(*Bench::Programs.command(kind, role), *arguments)
end

# A program that handles records; the block gives the command of one that sends them meanwhile.
# @return [Hash{Symbol => Object}] what the former printed
def handled(kind, *arguments, role: :handle, &beside)
  Bench::Child.together do |start|
    handler = start.call(*Bench::Programs.command(kind, role), *arguments)
    handler.ready if beside
    sender = start.call(*beside.call) if beside
    handler.result(sender).transform_keys(&:to_sym).tap { sender&.result }
  end
end

# @return [String] a new one begins at the first record
def group = "bench-#{@groups = @groups.to_i + 1}"

def rate(figures) = format("%.1f k", figures[:rate].median / 1e3)

def number(sample, digits) = format("%.#{digits}f", sample.median)

def ratio(results, over, under, key = :rate)
  above, below = [over, under].map { |label| results.dig(label, key)&.median }
  above / below if above && below
end

def rates(section, results, absent = {})
  section.table ["", "records/s"], results.map { |label, figures| [label, rate(figures)] } +
    absent.to_a
end

def delays_table(section, results, absent = {})
  section.table ["", "p50, ms", "p99, ms"], results.map { |label, figures|
    [label, number(figures[:p50_ms], 2), number(figures[:p99_ms], 2)]
  } + absent.map { |label, reason| [label, reason, ""] }
end
