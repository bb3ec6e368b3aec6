# frozen_string_literal: true

require "test_helper"
require "godwit/perf"

# An echo server that stops for half a second of ten: `load` shows the pause, `lat` hides it.
class PerfTimingTest < Godwit::TestCase
  STALL = 0.5 # seconds that the server stops
  TIME = 10 # seconds of one measurement

  # Echoes, and stops once for STALL seconds, TIME / 2 seconds after the first message.
  def stalling_echo
    rep = open_socket(:REP).bind("tcp://127.0.0.1:*")
    in_thread do
      due = nil
      rep.serve do |message|
        due ||= now + TIME / 2
        if now >= due
          due = Float::INFINITY
          sleep STALL
        end
        message
      end
    end
    rep.last_endpoint
  end

  test "the latencies of load contain a stall of the server, those of lat do not" do
    load = Godwit::Perf.load(stalling_echo, rate: 500, time: TIME, context: context)
    latency = Godwit::Perf.latency(stalling_echo, time: TIME, context: context)
    load_p99, latency_p99 =
      [load.intended, latency.histogram].map { |histogram| histogram.percentile(99) }
    assert_operator load_p99, :>=, 0.3
    assert_operator latency_p99, :<=, load_p99 / 10
    assert_operator latency.histogram.max, :>=, 0.45
    assert_predicate load, :achieved?
  end

  # Replies to each message `round_trip` seconds later, as over a link with a long round trip.
  def distant_echo(round_trip)
    router = open_socket(:ROUTER)
    router.bind("tcp://127.0.0.1:*")
    due = Thread::Queue.new
    in_thread do
      loop { router.recv.then { |message| due << [now + round_trip, message] } }
    ensure
      due.close
    end
    in_thread do
      while (time, message = due.pop)
        sleep([time - now, 0].max)
        router.send(message)
      end
    end
    router.last_endpoint
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  test "a link with a long round trip carries the whole rate" do
    load = Godwit::Perf.load(distant_echo(0.3), rate: 200, time: TIME, context: context)
    assert_operator load.actual.min, :>=, 0.3
    assert_predicate load, :achieved?
  end
end
