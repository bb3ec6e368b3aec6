# frozen_string_literal: true

require "test_helper"
require "godwit/perf"

# Each message has a number. The numbers show which messages are lost, duplicated or out of order.
class PerfSequenceTest < Godwit::TestCase
  Godwit::Perf.const_get(:Receiver) # loads the two classes below
  Sequence = Godwit::Perf.const_get(:Sequence)
  SequenceCheck = Godwit::Perf.const_get(:SequenceCheck)

  def check(numbers, size: 1, sent: (numbers.max || -1) + 1)
    sequence = Sequence.new(size)
    check = SequenceCheck.new(sequence)
    numbers.each { |number| check.count(sequence.messages[number & sequence.mask]) }
    check.finish(sent)
    [check.received, check.lost, check.duplicated, check.out_of_order]
  end

  test "messages of each size have different numbers; large messages wait in short queues" do
    {0 => [1, 1_000], 1 => [256, 1_000], 2 => [65_536, 1_000], 100 => [65_536, 1_000],
     1 << 20 => [32, 64], 64 << 20 => [2, 1]}.each do |size, (count, hwm)|
      sequence = Sequence.new(size)
      assert_equal [count, count, count - 1, hwm],
        [sequence.messages.size, sequence.messages.uniq.size, sequence.mask, sequence.hwm], size
      assert sequence.messages.all? { |message| message.bytesize == size && message.frozen? }
      [0, 1, count - 1].each do |number|
        assert_equal number & (count - 1), sequence.number(sequence.messages[number & (count - 1)])
      end
    end
  end

  test "what is none of the messages has no number, and is foreign" do
    sequence = Sequence.new(3)
    check = SequenceCheck.new(sequence)
    foreign = [nil, "", "ab", "abcd", "\xff\xff\xff", %w[a b c]]
    assert_equal [nil], foreign.map { |message| sequence.number(message) }.uniq
    [*foreign, sequence.messages[0]].each { |message| check.count(message) }
    assert_equal [1, foreign.size], [check.received, check.foreign]
  end

  test "in order, with a gap, with repetitions, out of order" do
    assert_equal [5, 0, 0, 0], check([0, 1, 2, 3, 4])
    assert_equal [3, 2, 0, 0], check([0, 3, 4])
    assert_equal [3, 2, 0, 0], check([0, 1, 2], sent: 5)
    assert_equal [3, 0, 2, 0], check([0, 1, 1, 2, 0])
    assert_equal [4, 0, 0, 1], check([0, 2, 1, 3])
    assert_equal [4, 1, 1, 1], check([0, 3, 1, 1, 4])
    assert_equal [0, 7, 0, 0], check([], sent: 7)
  end

  test "after the numbers began again" do
    all = (0...1_000).to_a
    assert_equal [1_000, 0, 0, 0], check(all)
    assert_equal [990, 10, 0, 0], check(all - (500...510).to_a)
    assert_equal [1_000, 0, 1, 0], check([*all, 999])
    assert_equal [1_000, 0, 0, 1], check(all.values_at(0..599, 601, 600, 602..999))
    assert_equal [65_540, 0, 0, 0], check((0...65_540).to_a, size: 100)
  end
end
