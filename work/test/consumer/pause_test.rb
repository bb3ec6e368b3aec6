# frozen_string_literal: true

require_relative "../log/engines"
require "godwit/work/testing"

# pause and resume, which a consumer calls.
class WorkPauseTest < Godwit::WorkCase
  include Engines::Tools

  def engine = @engine ||= own(shared)

  # @return [Class] a consumer of the topic "t", whose handler is the block
  def consumer(handler = :perform, by: :partition, &block)
    Class.new(Godwit::Work::Consumer) do
      topic "t", partitions: 2, format: :text
      group "g"
      retries 0
      parallel by: by
      define_method(handler, &block)
    end
  end

  # @return [Godwit::Work::Testing] with "a" to "c" in one partition
  def in_memory(handler = :perform, **options, &block)
    Godwit::Work::Testing.new(consumer(handler, **options, &block)).tap do |work|
      %w[a b c].each { |value| work.produce("t", value, key: "k") }
    end
  end

  test "the records behind wait until the pause's time is up" do
    seen = []
    work = in_memory { |message|
      seen << message.value
      pause(60) if message.value == "b"
    }
    assert_equal 2, work.drain
    work.clock.advance(59)
    assert_equal 0, work.drain
    work.clock.advance(1)
    assert_equal 1, work.drain
    assert_equal %w[a b c], seen
  end

  test "a pause ends with its assignment" do
    seen = []
    work = in_memory { |message|
      seen << message.value
      pause if message.value != "c"
    }
    3.times do |count|
      assert_equal %w[a b c].first(count), seen
      work.drain
      work.clock.advance(1_000)
      assert_equal 0, work.drain
      work.rebalance!
    end
    assert_equal %w[a b c], seen
  end

  test "resume ends it, and other partitions have none" do
    seen = []
    work = in_memory(by: :key) { |message|
      seen << message.value
      pause
      resume if message.value != "c"
    }
    2.times { |index| work.produce("t", "other #{index}", key: "other#{index}") }
    assert_equal 5, work.drain
    assert_equal ["a", "b", "c", "other 0", "other 1"], seen.sort
    work.produce("t", "d", key: "k")
    assert_equal 0, work.drain
  end

  test "an operator's pause and a consumer's are independent" do
    seen = []
    work = in_memory { |message|
      seen << message.value
      pause(60)
    }
    work.drain
    work.client.pause("g", "t")
    work.client.resume("g", "t")
    assert_equal 0, work.drain
    work.client.pause("g", "t")
    work.drain
    work.clock.advance(60)
    assert_equal 0, work.drain
    work.client.resume("g", "t")
    assert_equal 1, work.drain
    assert_equal %w[a b], seen
  end

  test "the running batch finishes" do
    seen = []
    work = in_memory(:consume) { |batch|
      pause(60)
      batch.each { |message| seen << message.value }
    }
    assert_equal 3, work.drain
    assert_equal %w[a b c], seen
    work.produce("t", "d", key: "k")
    assert_equal 0, work.drain
    work.clock.advance(60)
    assert_equal 1, work.drain
  end

  test "a wrong number of seconds" do
    work = in_memory { |_| pause(0) }
    work.drain
    assert_equal %w[a b c], work.values("t.dead")
    assert_match(/pause: seconds takes more than 0, or nil: got 0/,
      work.events.first[:error].message)
  end

  test "a pause of a consumer in a process" do
    seen = Thread::Queue.new
    client.topic("t", partitions: 2, format: :text)
    klass = consumer(by: :key) { |message|
      seen << message.value
      pause(0.01) if message.value == "0"
      pause if message.value == "last"
    }
    runner = nil
    run = lambda do
      runner = Godwit::Work::Runner.new([klass], client: client)
      @thread = in_thread { runner.run }
    end
    run.call
    20.times { |index| client.produce("t", index.to_s, key: "same") }
    assert_equal (0...20).map(&:to_s), Array.new(20) { seen.pop }
    client.produce("t", "last", key: "same")
    assert_equal "last", seen.pop
    client.produce("t", "behind", key: "same")
    stop = -> { runner.stop.then { ended(@thread) } }
    stop.call
    assert_empty seen
    run.call
    assert_equal "behind", seen.pop
    stop.call
  end
end
