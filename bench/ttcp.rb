# frozen_string_literal: true

# How fast is a link, by ttcp: C ttcp and `godwit ttcp` over TCP, then libzmq's C over PUSH
# and PULL, and Godwit over DEALER and ROUTER. See support/bench.rb for what narrows a run.
require "socket"
require_relative "support/bench"

RUNS = 15
LENGTH = 65_536
COUNT = Bench.quick? ? 2_000 : 16_384
C = "C ttcp, TCP"
OURS = "godwit ttcp, TCP"
ZMQ_C = "libzmq's C, PUSH and PULL"
ZMQ = "godwit ttcp --zmq"
TTCP = [RbConfig.ruby, "-I", File.join(Bench::ROOT, "lib"), File.join(Bench::ROOT, "exe/godwit"),
  "ttcp"].freeze

# @return [Hash] megabytes (1,000,000 bytes) a second, at the receiver
def run_ttcp(program, *transport)
  port = TCPServer.open("::", 0) { |server| server.addr[1].to_s }
  words = ["-s", "-p", port, "-l", LENGTH.to_s, "-n", COUNT.to_s, *transport]
  IO.popen(Bench::Child::ENVIRONMENT, [*program, "-r", *words]) do |receiver|
    receiver.gets # it is bound
    IO.popen(Bench::Child::ENVIRONMENT, [*program, "-t", *words, "127.0.0.1"], &:read)
    text = receiver.read
    bytes, rate = text.match(/(\d+) bytes in .* = ([\d.]+) KB/).captures
    raise Bench::Failure, "#{program.first} lost data:\n#{text}" unless bytes.to_i == LENGTH * COUNT
    {rate: Float(rate) * 1024 / 1e6}
  end
end

def run_libzmq
  received, = Bench::Child.pair(Bench::Programs.command(:c, :pull),
    Bench::Programs.command(:c, :push), "tcp://127.0.0.1:*", LENGTH, COUNT)
  {rate: received["rate"] * LENGTH / 1e6}
end

def ratio(results, label, base)
  results[label][:rate].median / results[base][:rate].median if
    results.key?(label) && results.key?(base)
end

def share(results, label, base)
  value = ratio(results, label, base)
  value ? format("%.2f", value) : "-"
end

Bench.section("ttcp", "ttcp: TCP, libzmq and Godwit side by side") do |section|
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs of #{COUNT} buffers of #{LENGTH} B over loopback, measured
    at the receiver. The C ttcp is the one of the tests (bench/c/ttcp.c).
  MARKDOWN
  contest = Bench::Contest.new("ttcp")
  contest.add(C, :c) { run_ttcp([Bench::Programs.c("ttcp")]) }
  contest.add(OURS, :godwit) { run_ttcp(TTCP) }
  contest.add(ZMQ_C, :c) { run_libzmq }
  contest.add(ZMQ, :godwit) { run_ttcp(TTCP, "--zmq") }
  results = contest.run(Bench.runs(RUNS))
  rows = results.map do |label, figures|
    rate = figures[:rate]
    [label, format("%.0f", rate.median), "#{rate.least.round} to #{rate.most.round}",
      share(results, label, C), share(results, label, ZMQ_C)]
  end
  section.table ["", "MB/s", "of the runs", "to C ttcp", "to libzmq's C"], rows
  section.absent(contest.absent)
  section.target "`ttcp -l #{LENGTH}`, of C's", ratio(results, OURS, C), at_least: 0.9
end
