# frozen_string_literal: true

require "test_helper"
require "godwit/perf"

# Histogram: percentiles of random distributions, its bounds, its merges and its refusals.
class PerfHistogramTest < Godwit::TestCase
  Histogram = Godwit::Perf::Histogram
  PERCENTS = [0, 1, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100].freeze
  COUNT = 20_000
  LONGEST = 3_600_000_000_000

  # The smallest value such that at least `percent` % of all values are not larger than it.
  def exact(sorted, percent)
    sorted[[(Rational(percent.to_s) * sorted.size / 100).ceil - 1, 0].max] / 1e9
  end

  def assert_near(expected, found, words)
    assert_operator (found - expected).abs, :<=, expected * 0.001, "#{words}: #{expected}, #{found}"
  end

  test "percentiles are within 0.1 % of the exact ones" do
    random = Random.new(Minitest.respond_to?(:seed) ? Minitest.seed.to_i : 1) # no seed on JRuby
    values = Array.new(COUNT) { (1_000 * 3.6e9**random.rand).round.clamp(1_000, LONGEST) }
    histogram = Histogram.new
    values.each { |value| histogram.record_ns(value) }
    values.sort!
    PERCENTS.each do |percent|
      assert_near exact(values, percent), histogram.percentile(percent), percent
    end
    assert_equal [values.min / 1e9, values.max / 1e9, values.size],
      [histogram.min, histogram.max, histogram.count]
    assert_in_delta values.sum / 1e9 / COUNT, histogram.mean, 1e-12 * LONGEST
    variance = values.sum { |value| (value / 1e9 - histogram.mean)**2 } / COUNT
    assert_near Math.sqrt(variance), histogram.standard_deviation, "deviation"
  end

  test "each duration from 1 us to 1 h is within 0.1 %" do
    value = 1_000
    while value <= LONGEST
      [value, value + 1].each do |one|
        other = Histogram.new.record_ns(one).record_ns(LONGEST)
        assert_near [one, LONGEST].min / 1e9, other.percentile(50), one
      end
      value = value * 5 / 4
    end
  end

  test "an empty histogram has no percentiles" do
    empty = Histogram.new
    assert_equal [0, nil, nil, nil, nil, nil],
      [empty.count, empty.percentile(50), *%i[min max mean standard_deviation]
        .map { |name| empty.public_send(name) }]
    refute empty.enough_for?(50)
    assert_equal "#<Godwit::Perf::Histogram 0 durations>", empty.inspect
  end

  test "more than an hour counts as an hour, less than nothing is refused" do
    histogram = Histogram.new.record(5_000)
    assert_equal [1, 3_600.0, 3_600.0], [histogram.count, histogram.max, histogram.percentile(50)]
    assert_raises(ArgumentError) { histogram.record_ns(-1) }
    assert_raises(ArgumentError) { histogram.record(-0.1) }
    assert_equal [2, 0.0], [histogram.record(0).count, histogram.min]
    assert_equal [3, 3_600.0], [histogram.record(Float::INFINITY).count, histogram.max]
    assert_equal 0.5, Histogram.new.record(1r / 2).max.round(3)
    [Float::NAN, Complex(1, 1)].each do |value|
      assert_raises(Godwit::ArgumentValueError) { histogram.record(value) }
    end
    ["0.1", nil, [1]].each do |value|
      assert_raises(Godwit::ArgumentTypeError) { histogram.record(value) }
      assert_raises(Godwit::ArgumentTypeError) { histogram.record_ns(value) }
    end
    assert_raises(Godwit::ArgumentValueError) { histogram.record_ns(0.5) }
    assert_equal 3, histogram.count
  end

  test "a percentile outside 0 to 100 is refused, and the error names it" do
    [101, -1, "50", nil, Complex(1, 1), Float::NAN].each do |percent|
      error = assert_raises(ArgumentError) { Histogram.new.percentile(percent) }
      assert_includes error.message, percent.inspect
    end
  end

  test "a percentile means something when ten durations are longer" do
    histogram = Histogram.new
    {50 => 20, 90 => 100, 99 => 1_000, 99.9 => 10_000}.each do |percent, count|
      histogram.record_ns(50_000) until histogram.count == count - 1
      refute histogram.enough_for?(percent), percent
      histogram.record_ns(50_000)
      assert histogram.enough_for?(percent), percent
    end
    refute histogram.enough_for?(100)
  end

  test "merge gives the histogram of both, and changes neither" do
    random = Random.new(7)
    values = Array.new(2) { Array.new(1_000) { random.rand(1_000..90_000_000) } }
    both, *parts = [values.flatten, *values].map do |all|
      all.each_with_object(Histogram.new) { |value, histogram| histogram.record_ns(value) }.freeze
    end
    sum = parts[0].merge(parts[1])
    assert_equal both.to_h, sum.to_h
    assert_equal [1_000, 2_000], [parts[0].count, sum.count]
    assert_equal both.to_h, both.merge(Histogram.new).to_h
    assert_equal both.to_h, Histogram.new.merge(both).to_h
    [nil, "x", both.to_h].each do |wrong|
      assert_raises(Godwit::ArgumentTypeError) { both.merge(wrong) }
    end
  end

  test "its values come back from another process" do
    histogram = Histogram.new
    [1_000, 5_000, 5_000, 90_000_000].each { |value| histogram.record_ns(value) }
    copy = Histogram.from_h(JSON.parse(JSON.generate(histogram.to_h)))
    assert_equal [histogram.to_h, 4], [copy.to_h, copy.count]
    assert_equal Histogram.new.to_h, Histogram.from_h(Histogram.new.to_h).to_h
    whole = histogram.to_h
    wrong = [
      {"counts" => 1}, {"counts" => [[1]]}, {"counts" => [[1 << 40, 1]]}, {"counts" => [[-1, 1]]},
      {"counts" => []}, {"counts" => [[1.5, 1]]}, {"counts" => [[1, "1"]]}, {"min" => nil},
      {"min" => 90_000_000}, {"max" => 5_000}, {"max" => "x"}, {"sum" => nil}, {"sum" => 1 << 62}
    ]
    [{}, nil, [], *wrong.map { |values| whole.merge(values) }].each do |values|
      error = assert_raises(ArgumentError, values.inspect) { Histogram.from_h(values) }
      assert_equal "this is no histogram", error.message
    end
  end

  test "a frozen histogram refuses durations" do
    histogram = Histogram.new.record(1).freeze
    error = assert_raises(FrozenError) { histogram.record(1) }
    assert_operator error.message.size, :<, 150
    assert_equal 1.0, histogram.percentile(50)
  end
end
