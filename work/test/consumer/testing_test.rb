# frozen_string_literal: true

require "support/running_consumers"

# Godwit::Work::Testing: an application in memory.
class WorkTestingTest < Godwit::WorkCase
  include RunningConsumers

  # @return [Godwit::Work::Testing] the handler is the block; by default it raises for "bad"
  def work(by: :key, &block)
    block ||= ->(message) { raise "no" if message.value == "bad" }
    @work = in_memory(retries: 1, backoff: 60..60, by: by, &block)
  end

  def write(*values, key: "k") = values.each { |value| @work.produce("t", value, key: key) }

  # @return [Array<Integer>] how many records run now, and how many are committed in all
  def drain(seconds = 0)
    @work.clock.advance(seconds)
    [@work.drain, @work.committed(@klass)]
  end

  test "Godwit::Work in handlers and hooks is the application's own log" do
    one = in_memory(
      assigned: ->(_) { Godwit::Work.topic("log", partitions: 1) },
      revoked: ->(_) { Godwit::Work.produce("log", "revoked") }
    ) do |message|
      Godwit::Work.produce("log", message.value)
      self.class.produce("again") if message.value == "first"
    end
    one.produce("t", "first")
    assert_equal 2, one.drain
    one.rebalance!
    assert_equal [%w[again first revoked], []], [one.values("log").sort, one.events]
    assert_match(/Testing/, one.inspect)
    assert_nil Godwit::Work.instance_variable_get(:@client)
    Godwit::Work.stub(:make, one.client) { assert_same one.client, Godwit::Work.client }
  end

  test "a retry runs when the clock has advanced; then the record is a dead letter" do
    work
    write("bad")
    write("good", key: "other")
    assert_equal [[2, 1], [0, 1], [1, 2], %w[bad]],
      [drain, drain, drain(80), @work.values("t.dead")]
    assert_equal %i[failed failed dead], @work.events.map(&:name)
  end

  test "a crash repeats what was not committed" do
    ran = []
    work { |message| ran << message.value }
    write("a")
    drain
    @work.slow_commits do
      write("b")
      drain
      @work.crash!
      drain
    end
    assert_equal %w[a b b], ran
    @work.crash!
    assert_equal [0, 2], drain
  end

  test "a record that crashes three times is a dead letter" do
    work { |_| throw :crash }
    write("bad")
    3.times do
      @work.slow_commits do
        catch(:crash) { drain }
        @work.crash!
      end
    end
    assert_equal [[0, 1], %w[bad]], [drain, @work.values("t.dead")]
  end

  test "a rebalance and duplicates" do
    ran = []
    work(by: :partition) { |message| ran << message.value }
    write("a")
    drain
    @work.rebalance!
    assert_equal [0, 1], drain
    write("b")
    drain
    @work.duplicate!
    assert_equal [[1, 2], %w[a b b]], [drain, ran]
  end

  test "a backoff from 0 seconds grows from a second on" do
    one = in_memory(retries: 3, backoff: 0..300) { raise "no" }
    one.produce("t", "a")
    assert_equal [2, 0, 1, 0, 1], [0, 0.8, 0.4, 1.7, 0.6].map { |seconds|
      one.clock.advance(seconds)
      one.drain
    }
  end
end
