# frozen_string_literal: true

require "support/running_consumers"

# The methods `pause` and `resume` of a consumer, which its handler calls.
class WorkPauseTest < Godwit::WorkCase
  include RunningConsumers

  # Writes "a", "b" and "c" to one partition of a log in memory. The handler adds each value to
  # @ran, and then calls the block.
  def start(**options, &pauses)
    ran = @ran = []
    @work = in_memory(retries: 0, **options) do |message|
      ran << message.value
      instance_exec(message, &pauses)
    end
    write(*%w[a b c])
  end

  def write(*values, key: "k") = values.each { |value| @work.produce("t", value, key: key) }

  # @return [Array<Integer>] the number of records that run after each advance of the clock
  def drain(*seconds)
    seconds.map do |time|
      @work.clock.advance(time)
      @work.drain
    end
  end

  test "the records behind wait until the pause's time is up" do
    start { |message| pause(60) if message.value == "b" }
    assert_equal [[2, 0, 1], %w[a b c]], [drain(0, 59, 1), @ran]
  end

  test "a pause ends with its assignment" do
    start { |_| pause }
    3.times do |count|
      assert_equal [%w[a b c].first(count), 1, 0], [@ran.dup, *drain(0, 1_000)]
      @work.rebalance!
    end
  end

  test "resume ends it, and other partitions have none" do
    start(by: :key) do |message|
      pause
      resume if message.value != "c"
    end
    write("x", "y", key: "other0")
    assert_equal [[5], %w[a b c x y]], [drain(0), @ran.sort]
    write("d")
    assert_equal [0], drain(0)
  end

  test "an operator's pause and a consumer's are independent" do
    start { |_| pause(60) }
    operator = ->(change) { @work.client.public_send(change, "g", "t") }
    assert_equal [1], drain(0)
    %i[pause resume].each(&operator)
    assert_equal [0], drain(0)
    operator.call(:pause)
    assert_equal [0, 0], drain(0, 60)
    operator.call(:resume)
    assert_equal [[1], %w[a b]], [drain(0), @ran]
  end

  test "the running batch finishes" do
    ran = []
    @work = in_memory(:consume) do |batch|
      pause(60)
      batch.each { |message| ran << message.value }
    end
    write(*%w[a b c])
    assert_equal [[3], %w[a b c]], [drain(0), ran]
    write("d")
    assert_equal [0, 1], drain(0, 60)
  end

  test "a wrong number of seconds" do
    start { |_| pause(0) }
    drain(0)
    assert_equal %w[a b c], @work.values("t.dead")
    assert_match(/pause: seconds takes more than 0, or nil: got 0/,
      @work.events.first[:error].message)
  end

  test "a pause of a consumer in a process" do
    seen = self.seen
    klass = consumer(by: :key) do |message|
      seen << message.value
      pause(0.01) if message.value == "0"
      pause if message.value == "last"
    end
    declare
    run_consumers(klass)
    produce(*"0".."19")
    assert_equal [*"0".."19"], next_seen(20)
    produce("last")
    assert_equal "last", seen.pop
    produce("behind")
    stop_all
    assert_empty seen
    run_consumers(klass)
    assert_equal "behind", seen.pop
  end
end
