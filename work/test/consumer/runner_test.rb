# frozen_string_literal: true

require "fileutils"
require "support/running_consumers"

# Runners: the order of records, groups, members, and classes that were reloaded.
class WorkRunnerTest < Godwit::WorkCase
  include RunningConsumers

  test "the records of a key run in order, those of others at the same time" do
    declare
    lock = Mutex.new
    running = Hash.new(0)
    most = 0
    order = Hash.new { |all, key| all[key] = [] }
    klass = consumer(by: ->(message) { message.key }) do |message|
      lock.synchronize { most = [most, running[message.key] += 1].max }
      Thread.pass
      lock.synchronize do
        running[message.key] -= 1
        order[message.key] << message.value.to_i
      end
    end
    client.produce_many("t", Array.new(2_000) { |index| [index.to_s, (index % 7).to_s] })
    run_consumers(klass, workers: 8)
    finished(2_000)
    assert_equal 1, most
    assert_equal (0...2_000).group_by { |index| (index % 7).to_s }, order
  end

  test "a FIFO that something deletes is made again" do
    not_on :kafka, "members have no FIFO"
    declare
    run_consumers(noting)
    eventually { engine.members.size == 1 }
    FileUtils.rm_rf("#{path}.members")
    other = own(sqlite)
    member = other.join("g", other.topics["t"], other.listen.path, [0, 0])
    other.rebalance(member)
    other.leave(member.id)
    eventually { engine.members.any?(&:alive) }
    produce("a")
    assert_equal "a", seen.pop
  end

  test "between two commits the time of the engine passes, but for isolated records" do
    workers = Work.const_get(:Workers).new(1)
    coordinator = Work.const_get(:Coordinator).new([consumer { nil }], client, workers) { "" }
    commits = 0
    coordinator.define_singleton_method(:commit) { commits += 1 }
    count = -> { (commits = 0).then { 3.times { coordinator.settle } }.then { commits } }
    engine.stub(:commit_every, 0) { assert_equal 3, count.call }
    engine.stub(:commit_every, 1_000) do
      coordinator.settle
      assert_equal 0, count.call
      workers.stub(:ran_alone, Object.new) { coordinator.settle }
      assert_equal 1, commits
    end
  end

  test "several groups and classes in one process" do
    seen = self.seen
    work = Work::Testing.new(*%w[g h].map { |name|
      consumer(group: name) { |message| seen << [name, message.value] }
    })
    work.produce("t", "a")
    assert_equal 2, work.drain
    assert_equal [%w[g a], %w[h a]], next_seen(2).sort
  end

  test "a new group begins where its class says" do
    declare
    produce("old")
    late = noting
    late.start_from :latest
    run_consumers(late)
    eventually { positions.count(&:member) == 2 }
    produce("new")
    assert_equal "new", seen.pop
  end

  test "a runner runs once" do
    declare
    runner = run_consumers(noting)
    eventually { runner.started? }
    refused = lambda do
      assert_match(/runs already, or has ended: make another with Godwit::Work::Runner.new/,
        assert_raises(Godwit::StateError) { runner.run }.message)
    end
    refused.call
    produce("a")
    assert_equal "a", seen.pop
    stop_all
    refused.call
  end

  # Defines a consumer class under a constant, as a loaded file does.
  def define(name, parent = Work::Consumer)
    self.class.const_set(name, Class.new(parent) { topic "reloaded" })
  end

  test "of a class that was reloaded the newest counts, and one that was removed is gone" do
    before = Work::Consumer.known.size
    old = define(:Reloaded)
    define(:Below, old)
    anonymous = Class.new(Work::Consumer) { topic "reloaded" }
    %i[Reloaded Below].each { |name| self.class.send(:remove_const, name) }
    new = define(:Reloaded)
    assert_equal [anonymous, new], Work::Consumer.known.last(2)
    assert_equal before + 2, Work::Consumer.known.size
    assert_equal [new], Work::Consumer.classes.select { |one| one.settings.topic == "reloaded" }
    below = define(:Below, new)
    self.class.send(:private_constant, :Below)
    assert_equal [new, below], Work::Consumer.classes.last(2)
    named = Class.new(Work::Consumer) { define_singleton_method(:name) { "Elsewhere" } }
    assert_includes Work::Consumer.known, named
  ensure
    %i[Reloaded Below].each { |name| self.class.send(:remove_const, name) }
  end

  test "an undefined method in a handler is a short error" do
    work = in_memory { |_| charge }
    work.produce("t", "a")
    work.drain
    assert_operator work.events.first[:error].message.lines.first.size, :<, 150
  end

  test "inspect is short" do
    topic = Work::Topic.new(name: "t", partitions: 2_000, ids: [*1..2_000])
    runner = Work::Runner.new([consumer { nil }], client: client)
    [consumer { nil }.new, runner, client, engine, topic].each do |one|
      assert_operator one.inspect.size, :<, 200, one.class
    end
  end
end
