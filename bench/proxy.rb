# frozen_string_literal: true

# How many messages a second go through a proxy? See support/bench.rb for what narrows a run.
require_relative "support/bench"

RUNS = 7
TRANSPORTS = %w[tcp ipc].freeze
SIZES = {100 => "100 B", 1024 => "1 KiB", 16_384 => "16 KiB"}.freeze
COUNTS = {100 => 1_000_000, 1024 => 400_000, 16_384 => 60_000}.freeze
# pattern => [sender, receiver]; both are C, so that the proxies alone differ
PATTERNS = {"streamer" => [:push, :pull], "queue" => [:queue_push, :queue_pull]}.freeze
PROXIES = {"C, zmq_proxy" => :c, "godwit" => :godwit}.freeze
GOAL = 0.95

def run_once(kind, pattern, transport, size, next_endpoint)
  count = COUNTS[size] / (Bench.quick? ? 20 : 1)
  arguments = [size, count, count / 10]
  sender, receiver = PATTERNS[pattern].map { |role| Bench::Programs.command(:c, role) }
  Bench::Child.together do |start|
    pull = start.call(*receiver, next_endpoint.call(transport), *arguments)
    proxy =
      start.call(
        *Bench::Programs.command(kind, :proxy), pattern, pull.ready, next_endpoint.call(transport)
      )
    push = start.call(*sender, proxy.ready, *arguments)
    result = pull.result(proxy)
    push.release
    push.result
    {rate: result["rate"]}
  end
end

def contest(pattern, transport, size, next_endpoint)
  contest = Bench::Contest.new("proxy, #{pattern}, #{transport}, #{SIZES[size]}")
  PROXIES.each do |label, kind|
    contest.add(label, kind) { run_once(kind, pattern, transport, size, next_endpoint) }
  end
  contest.run(Bench.runs(RUNS))
end

def rate(sample) = format("%.1f k", sample.median / 1e3)

def ratio(results)
  c, ours = PROXIES.keys.map { |label| results.dig(label, :rate)&.median }
  ours / c if c && ours
end

Bench.section("proxy", "Proxy: messages a second through a third process") do |section|
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs of three processes. Only the proxy differs: the sender and
    the receiver are C. Streamer: PUSH to [PULL, PUSH] to PULL. Queue: DEALER to [ROUTER, DEALER] to
    DEALER, messages of two frames after the ROUTER. The receiver measures from the last message of
    the warm-up (a tenth more messages) to the last message.
  MARKDOWN
  ratios = {}
  Bench.endpoints do |next_endpoint|
    PATTERNS.each_key do |pattern|
      section.heading pattern
      rows = Bench.transports(TRANSPORTS).flat_map { |transport|
        Bench.sizes(SIZES.keys, quick: [100]).map { |size|
          results = contest(pattern, transport, size, next_endpoint)
          found = ratios["#{pattern}, #{transport}, #{SIZES[size]}"] = ratio(results)
          [
            "#{transport}, #{SIZES[size]}",
            *PROXIES.keys.map { |label| results[label] ? rate(results[label][:rate]) : "-" },
            found ? format("%.3f", found) : "-"
          ]
        }
      }
      section.table ["messages/s", *PROXIES.keys, "ratio"], rows
    end
  end
  ratios.each do |label, value|
    section.target "#{label}: godwit, of zmq_proxy in C", value, at_least: GOAL
  end
end
