# frozen_string_literal: true

require "work_helper"
require "support/model"

# Random steps of several members of a group. A model in plain Arrays states the expected results.
class WorkModelTest < Godwit::WorkCase
  deadline 300
  Work = Godwit::Work
  PARTITIONS = 5
  STEPS = Godwit::TestSupport::Length.of(1_000, long: 10_000)

  # A coordinator that tells the model what its member claims, commits and releases.
  class Watched < Work.const_get(:Coordinator)
    def initialize(model, engine, klass, client)
      @model = model
      clock = -> { engine.clock.call / 1000.0 }
      inline = Work::Testing.const_get(:Inline)
      super([klass], client, inline, threads: false, clock: clock) { "" }
    end

    def commit
      @assignments.each { |one| @model.committed(claim_of(one), one.partition) if one.changed? }
      super
    end

    def rebalance
      super
      bury_dead
    end

    def claim_of(assignment) = [assignment.position.member, assignment.position.generation]

    private

    # Tells the model which dead members a rebalance has removed.
    def bury_dead
      (@engine.dead - @engine.members.map(&:id)).each do |dead|
        @model.crashed(dead)
        @engine.dead.delete(dead)
      end
    end

    def claimed(klass, positions)
      bury_dead
      positions.each { |position| @model.claimed(position) }
      super
    end

    def moved(assignment, what)
      ended = what != :assigned && @model.claims[assignment.partition] == claim_of(assignment)
      @model.free(assignment.partition) if ended
      super
    end
  end

  # A member with a coordinator of its own, as in another process. The test calls its steps.
  class Member
    def initialize(engine, klass, model)
      @engine = engine
      @model = model
      @coordinator = Watched.new(model, engine, klass, Work::Client.new(engine))
      @handlers = {}
      @coordinator.join
      @coordinator.rebalance
    end

    # @return [Array] member and generation of the assignment whose records run in {#work}
    attr_reader :claim

    def id = @coordinator.members.each_value.first.id

    def tick
      @coordinator.rebalance
      @coordinator.give_up
      @coordinator.fetch
      @paused = @model.paused
    end

    # @param most [Integer] the most records that run
    def work(random, most)
      one = @coordinator.assignments.sample(random: random) or return
      @coordinator.commit if one.isolated? # as a runner does before each record that runs alone
      lanes = one.dequeue(most, 1) or return
      raise "it is paused" if @paused
      @claim = @coordinator.claim_of(one)
      @model.noted(@claim, one.partition, lanes[0][1][0].offset) if one.isolated?
      Member.running = self
      @coordinator.note(one, lanes) if one.isolated?
      handler = @handlers[one] ||= @coordinator.handler(one)
      lanes.each { |lane, messages| handler.run(lane, messages) }
    end

    def commit = @coordinator.commit

    def leave
      commit
      @engine.leave(id)
      @model.left(id)
    end

    def kill = @engine.dead << id

    class << self
      attr_accessor :running
    end
  end

  # @return [Class] a consumer whose handler fails, produces or commits as the model's plan says
  def consumer(model)
    Class.new(Work::Consumer) do
      topic "in", partitions: PARTITIONS, format: :text
      group "g"
      parallel by: :key
      retries GroupModel::RETRIES, backoff: 0..0
      define_method(:perform) do |message|
        claim = Member.running.claim
        plan = model.ran(claim, message) or raise "no"
        produce("out", "#{message.partition}/#{message.offset}")
        next unless plan.transaction
        transaction { nil }
        model.committed(claim, message.partition)
      end
    end
  end

  def setup
    super
    @engine = own(Work.const_get(:MemoryEngine).new)
    @client = Work::Client.new(@engine)
    @topic = @client.topic("in", partitions: PARTITIONS, format: :text)
    @client.topic("out", format: :text)
    @model = GroupModel.new(PARTITIONS)
    @klass = consumer(@model)
    @random = Random.new(Minitest.seed)
    @members = []
  end

  def join = @members << Member.new(@engine, @klass, @model)

  def produce
    partition = @random.rand(PARTITIONS)
    plans = Array.new(@random.rand(1..4)) do
      failures = [0, 0, 0, 0, 0, 1, 2, 99].sample(random: @random)
      GroupModel::Plan.new(%w[a b c].sample(random: @random), failures, @random.rand(5).zero?)
    end
    block = Work.const_get(:Block).encode(["x"] * plans.size, plans.map(&:key))
    @engine.append([[@topic, partition, block, plans.size]])
    plans.each { |plan| @model.produced(partition, plan) }
  end

  def seek
    offsets = @model.partitions.map { |at| @random.rand(@model.size(at) + 1) }
    @engine.set("g", @topic, offsets: offsets)
    offsets.each_with_index { |offset, at| @model.sought(at, offset) }
  end

  def pause
    @model.paused = !@model.paused
    @engine.set("g", @topic, paused: @model.paused)
  end

  def evict(member)
    @engine.leave(member.id)
    @model.left(member.id)
  end

  # Takes one random step: of a member, of a producer or of an operator.
  def step
    member = @members.sample(random: @random)
    case @random.rand(100)
    when 0..2 then join if @members.size < 4
    when 3..4 then @members.delete(member).leave if @members.size > 1
    when 5..7 then @members.delete(member).kill if @members.size > 1
    when 8 then seek
    when 9 then evict(member)
    when 10..14 then pause if @model.paused || @random.rand(4).zero?
    when 15..30 then produce if @model.unfinished < 100
    when 31..45 then member.tick
    when 46..60 then member.commit
    else member.work(@random, @random.rand(1..5))
    end
  end

  def compare
    raise @model.problem if @model.problem
    @engine.positions("g", @topic).each { |position| @model.assert_same_as(position) }
  end

  def compare_outputs
    assert_equal @model.outputs.sort, @client.each("out").map(&:value).sort
    letters = @client.each("in.dead").map do |letter|
      letter.headers.to_h.values_at("godwit-partition", "godwit-offset").join("/")
    end
    assert_equal @model.dead.sort, letters.sort
  end

  # After the last random step the members finish all records, and their shares differ by at most 1.
  def settle
    pause if @model.paused
    200.times do
      @members.each do |member|
        member.tick
        PARTITIONS.times { member.work(@random, 5) }
        member.commit
      end
    end
    assert_equal 0, @model.unfinished
    counts = @members.map { |member| @model.owned(member.id).size }
    assert_operator counts.max - counts.min, :<=, 1
  end

  test "random steps of members, operators and handlers, beside a model of plain Arrays" do
    join
    STEPS.times do |number|
      step
      compare
    rescue Minitest::Assertion => error
      raise error.class, "step #{number}: #{error.message}", error.backtrace
    end
    settle
    compare
    compare_outputs
    assert_operator @model.dead.size, :>, 0
  end
end
