# frozen_string_literal: true

require_relative "../test_helper"
require_relative "made_records"

# Godwit::Logger::Summary: the line that a reader prints at its end.
class LoggerSummaryTest < Godwit::TestCase
  include MadeRecords

  Summary = Godwit::Logger::Summary
  SECOND = 1_000_000_000

  def record(t_ns, mono_ns = nil) = super("x", t_ns: t_ns, mono_ns: mono_ns)

  test "the line" do
    summary = Summary.new(host: "web1")
    120.times do |index|
      summary.add(record(0, SECOND), wall: 0, mono: SECOND + 1_200_000 + index * SECOND / 119)
    end
    assert_equal "received 120,000 · lost 0 · 4 writers · 119/s",
      summary.line(received: 120_000, lost: 0, writers: 4)[%r{.*119/s}]
    assert_equal "received 1 · lost 1,234,567 · 1 writer · 2 foreign",
      Summary.new.line(received: 1, lost: 1_234_567, writers: 1, foreign: 2)
  end

  test "lag: the monotonic clock on one machine, the wall clock between machines" do
    here, elsewhere = Summary.new(host: "web1"), Summary.new(host: "web2")
    [here, elsewhere].each do |summary|
      summary.add(record(0, 5 * SECOND), wall: 2 * SECOND, mono: 5 * SECOND + 1_000)
    end
    assert_in_delta 1_000, here.percentile(0.99), 100
    assert_in_delta 2 * SECOND, elsewhere.percentile(0.99), SECOND / 5
    unknown = Summary.new.add(Godwit::Logger::Record.parse("plain"))
    assert_nil unknown.percentile(0.99)
    assert_equal "received 1 · lost 0 · 0 writers", unknown.line(received: 1, lost: 0, writers: 0)
  end

  test "of a hundred, the 99th; good to a tenth; clocks that disagree are 0" do
    summary = Summary.new
    98.times { summary.add(record(0), wall: 1_000_000) }
    2.times { summary.add(record(0), wall: SECOND) }
    assert_in_delta 1.0, summary.percentile(0.98) / 1_000_000, 0.1
    assert_in_delta 1.0, summary.percentile(0.99) / SECOND, 0.1
    assert_operator Summary.new.add(record(SECOND), wall: 0).percentile(0.99), :<=, 1
  end

  test "durations" do
    {1 => "0.0 µs", 1_500 => "1.5 µs", 12_000 => "12 µs", 1_200_000 => "1.2 ms",
     250_000_000 => "250 ms", 3 * SECOND => "3.0 s"}.each do |ns, shown|
      assert_equal shown, Summary.duration(ns)
    end
  end
end
