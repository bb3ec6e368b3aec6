# frozen_string_literal: true

require "work_helper"
require "godwit/work/testing"

# Godwit::Work::Testing: an application in memory.
class WorkTestingTest < Godwit::WorkCase
  # @return [Godwit::Work::Testing] with a consumer of the topic "t", whose handler is the block
  def work(by: :key, &block)
    @klass = Class.new(Godwit::Work::Consumer) do
      topic "t", partitions: 2, format: :text
      group "g"
      retries 1, backoff: 60..60
      parallel by: by
      define_method(:perform, &block)
    end
    Godwit::Work::Testing.new(@klass)
  end

  test "drain runs all records, and commits them with their outputs" do
    seen = []
    one = work do |message|
      seen << message.value
      produce("out", message.value.upcase)
    end
    one.client.topic("out", format: :text)
    %w[a b c].each { |value| one.produce("t", value, key: "k") }
    assert_equal [3, 0], [one.drain, one.drain]
    assert_equal %w[a b c], seen
    assert_equal %w[A B C], one.values("out").sort
    assert_equal 3, one.committed(@klass)
    assert_match(/Testing/, one.inspect)
  end

  test "Godwit::Work in handlers and hooks is the application's own log" do
    klass = Class.new(Godwit::Work::Consumer) do
      topic "t", format: :text
      group "g"
      retries 0
      define_method(:assigned) { |partitions| Godwit::Work.topic("log", partitions: 1) }
      define_method(:revoked) { |_| Godwit::Work.produce("log", "revoked") }
      define_method(:perform) do |message|
        Godwit::Work.produce("log", message.value)
        self.class.produce("again") if message.value == "first"
      end
    end
    one = Godwit::Work::Testing.new(klass)
    one.produce("t", "first")
    assert_equal 2, one.drain
    one.rebalance!
    assert_equal %w[again first revoked], one.values("log").sort
    assert_empty one.events
    assert_nil Godwit::Work.instance_variable_get(:@client)
    Godwit::Work.stub(:make, one.client) { assert_same one.client, Godwit::Work.client }
  end

  test "a retry runs when the clock has advanced; then the record is a dead letter" do
    one = work { |message| raise "no" if message.value == "bad" }
    one.produce("t", "bad", key: "k")
    one.produce("t", "good", key: "other")
    assert_equal 2, one.drain
    assert_equal 1, one.committed(@klass)
    assert_equal 0, one.drain
    one.clock.advance(80)
    assert_equal 1, one.drain
    assert_equal %w[bad], one.values("t.dead")
    assert_equal 2, one.committed(@klass)
    assert_equal %i[failed failed dead], one.events.map(&:name)
  end

  test "drain counts the records that ran" do
    one = work(by: :partition) { |message| raise "no" if message.value == "bad" }
    %w[good bad behind].each { |value| one.produce("t", value, key: "k") }
    assert_equal 2, one.drain
    one.clock.advance(80)
    assert_equal 2, one.drain
    assert_equal 3, one.committed(@klass)
  end

  test "a crash repeats what was not committed" do
    seen = []
    one = work { |message| seen << message.value }
    one.produce("t", "a", key: "k")
    one.drain
    one.slow_commits do
      one.produce("t", "b", key: "k")
      one.drain
      one.crash!
      one.drain
    end
    assert_equal %w[a b b], seen
    assert_equal 2, one.committed(@klass)
    one.crash!
    assert_equal 0, one.drain
  end

  test "a record that crashes three times is a dead letter" do
    one = work { |message| throw :crash if message.value == "bad" }
    one.produce("t", "bad", key: "k")
    3.times do
      one.slow_commits do
        catch(:crash) { one.drain }
        one.crash!
      end
    end
    one.drain
    assert_equal %w[bad], one.values("t.dead")
    assert_equal 0, one.drain
  end

  test "a rebalance and duplicates" do
    seen = []
    one = work(by: :partition) { |message| seen << message.value }
    one.produce("t", "a", key: "k")
    one.drain
    one.rebalance!
    assert_equal 0, one.drain
    one.produce("t", "b", key: "k")
    one.drain
    one.duplicate!
    assert_equal 1, one.drain
    assert_equal %w[a b b], seen
  end

  test "a backoff from 0 seconds grows from a second on" do
    attempts = []
    klass = Class.new(Godwit::Work::Consumer) do
      topic "t", format: :text
      group "g"
      retries 3, backoff: 0..300
      define_method(:perform) { |message| raise "no" if attempts.push(message.attempt) }
    end
    work = Godwit::Work::Testing.new(klass)
    work.produce("t", "a")
    [[0, [1, 2]], [0.8, [1, 2]], [0.4, [1, 2, 3]], [1.7, [1, 2, 3]], [0.6, [1, 2, 3, 4]]]
      .each do |seconds, expected|
        work.clock.advance(seconds)
        work.drain
        assert_equal expected, attempts
      end
  end
end
