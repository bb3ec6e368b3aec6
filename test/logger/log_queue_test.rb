# frozen_string_literal: true

require "test_helper"
require "godwit/logger"
require "godwit/logger/writing/log_queue" # Godwit with its extension does not load this file

# The queue between a logger's callers and its sender: the extension's class, and the class in Ruby.
class LoggerLogQueueTest < Godwit::TestCase
  NATIVE = Godwit::Logger.const_get(:BoundedQueue).superclass
  KINDS = [NATIVE, Godwit::Logger.const_get(:LogQueue)].uniq

  def self.each_kind(name, &block)
    KINDS.each do |kind|
      test("#{kind}: #{name}") do
        @kind = kind
        instance_exec(&block)
      end
    end
  end

  def queue(records: 1000, bytes: 1 << 20) = @kind.new.open(records, bytes, 256)

  def entry(number, text = "")
    Godwit::Logger.const_get(:Entry).new(number, 0, 0, 0, text, nil, nil, nil)
  end

  def all(one) = one.size.zero? ? [] : one.take(1 << 20)

  each_kind "entries come out in the order in which they went in, and as many as are asked for" do
    one = queue
    700.times { |number| assert one.append(entry(number)) }
    taken = [one.take(100), one.take(300), one.take(1000)]
    assert_equal [100, 300, 300], taken.map(&:size)
    assert_equal [*0...700], taken.flatten(1).map(&:stream)
  end

  each_kind "none goes in once it is closed; queued entries still come out" do
    one = queue
    one.append(entry(1))
    one.close
    assert_equal false, one.append(entry(2))
    assert_predicate one, :closed?
    assert_equal [entry(1)], one.take(5)
    assert_nil one.take(5)
    assert_nil one.shift
    one.close
  end

  each_kind "the bounds hold: in records, and in bytes" do
    one = queue(records: 8)
    8.times do |number|
      refute_predicate one, :full?
      one.append(entry(number))
    end
    assert_predicate one, :full?
    one.shift
    refute_predicate one, :full?
    assert_predicate one.tap(&:shift), :below_low_water?
    one = queue(bytes: 20_000)
    one.append(entry(1, "x" * 19_000))
    refute_predicate one, :full?
    refute_predicate one, :below_low_water?
    one.append(entry(2, "x" * 600))
    assert_predicate one, :full?
    # the method `take` returns up to a quarter of the queue's bytes, or a single entry
    assert_equal [1, 1], [all(one).size, one.size]
    all(one)
    assert_predicate one, :below_low_water?
    refute_predicate one, :full?
    assert_nil one.shift
  end

  each_kind "a waiting thread is woken by an entry and by the end, and every entry comes out " \
    "once" do
    one = queue(records: 100_000)
    count = rounds(3_000, stressed: 100)
    taker = in_thread do
      taken = []
      while (batch = one.take(7))
        taken.concat(batch)
      end
      taken
    end
    count.times do |number|
      one.append(entry(number))
      until_waiting(one) if (number % 100).zero?
    end
    until_waiting(one)
    one.close
    assert_equal [*0...count], taker.value.map(&:stream)
  end

  each_kind "an interrupted wait takes nothing, and the next call gets the entry" do
    one = queue
    3.times do |number|
      sleeper = in_thread { one.take(1) }
      until_waiting(one)
      sleeper.kill
      assert sleeper.join(5)
      one.append(entry(number))
      assert_equal [entry(number)], one.take(1)
      sleeper = in_thread { one.take(1) }
      until_waiting(one)
      one.append(entry(-1))
      assert_equal [entry(-1)], sleeper.value
    end
  end

  each_kind "entries outlive the collector, wherever it moves them" do
    one = queue(records: 10_000, bytes: 1 << 24)
    4.times { GC.start } # the queue is now in GC's old generation; entries are young
    count = rounds(2_000, stressed: 50)
    count.times do |number|
      one.append(entry(Object.new, "n#{number}"))
      one.shift if number < 100
    end
    GC.start(full_mark: false)
    GC.start
    GC.compact if GC.respond_to?(:compact)
    GC.start
    Array.new(1000) { |number| "filler #{number}" * 10 }
    first = [count, 100].min
    assert_equal (first...count).map { |number| "n#{number}" }, all(one).map(&:text)
  end

  test "a queue that was never opened, or is opened twice, says so" do
    not_on :ffi, "its queue is a Thread::Queue"
    assert_raises(Godwit::ClosedError) { NATIVE.allocate.size }
    assert_raises(Godwit::StateError) { NATIVE.new.open(1, 1000, 256).open(1, 1000, 256) }
  end
end
