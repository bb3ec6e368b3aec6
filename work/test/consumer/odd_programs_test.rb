# frozen_string_literal: true

require "work_helper"
require "timeout"
require "godwit/work/testing"

# Programs that do odd things: no record is lost, none runs twice, and the others go on.
class WorkOddProgramsTest < Godwit::WorkCase
  # @return [Godwit::Work::Testing] with a consumer of the topic "t", whose handler is the block
  def work(handler = :perform, by: :partition, retries: 0, &block)
    @klass = Class.new(Godwit::Work::Consumer) do
      topic "t", partitions: 1, format: :text
      group "g"
      retries retries, backoff: 0..0
      parallel by: by
      define_method(handler, &block)
    end
    Godwit::Work::Testing.new(@klass)
  end

  # @return [Array<String>] the errors of the dead letters
  def errors(work)
    work.client.each("t.dead").map { |letter| letter.headers.to_h["godwit-error"] }
  end

  test "parallel by: a key without a hash, or an error that is no StandardError, fails the record" do
    keys = {"basic" => -> { BasicObject.new }, "later" => -> { raise NotImplementedError, "later" },
            "exit" => -> { exit }}
    seen = []
    one = work(by: ->(message) { keys.fetch(message.value) { -> { message.value } }.call }) do |message|
      seen << message.value
    end
    values = ["a", *keys.keys, "b"]
    one.client.produce_many("t", values.map { |value| [value] })
    one.drain
    assert_equal %w[a b], seen
    assert_equal 5, one.committed(@klass)
    assert_equal %w[NoMethodError NotImplementedError SystemExit],
      errors(one).map { |error| error[/\w+/] }.sort
  end

  test "a Timeout that expires after the commit of a transaction: the record does not run again" do
    runs = commits = 0
    one = work(retries: 2) do |_|
      runs += 1
      transaction { |_| produce("out", "a") }
    end
    one.client.topic("out", format: :text)
    one.produce("t", "a")
    # The end of a commit, where a process may wait for the lock of the file.
    one.client.engine.define_singleton_method(:checkpoint) do |_|
      Thread.new(Thread.current) { |thread| thread.raise(Timeout::Error) }.join if (commits += 1) == 1
    end
    one.drain
    assert_equal [1, 1], [runs, one.committed(@klass)]
    assert_equal ["a"], one.values("out")
    assert_equal [:error], one.events.map(&:name)
  end

  test "produce in a transaction finds a topic that another process has made" do
    one = work { |_| transaction { |_| produce("late", "a") } }
    # This process knows the topics of a look before.
    one.client.topic("late", format: :text)
    one.client.engine.instance_variable_get(:@topics).delete("late")
    one.produce("t", "a")
    one.drain
    assert_equal ["a"], one.values("late")
    assert_empty one.events
  end

  test "produce in a transaction to an unknown topic names the nearest one" do
    one = work { |_| transaction { |_| produce("aut", "a") } }
    one.client.topic("out", format: :text)
    one.produce("t", "a")
    one.drain
    assert_match(/no topic "aut"; did you mean "out"/, errors(one)[0])
  end
end
