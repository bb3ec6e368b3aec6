# frozen_string_literal: true

# The state that a test expects of a group, in plain Arrays by partition.
class GroupModel
  include Minitest::Assertions

  RETRIES = 2
  CRASHES = 2 # crashes after which a partition's records run one at a time
  # A record's key, how many runs of its handler fail first, and whether the handler uses a
  # transaction.
  Plan = Struct.new(:key, :failures, :transaction)
  # A run that is not committed yet: its claim (member and generation), its record's offset, and the
  # output or the dead letter. A run with neither has failed, and the record runs again.
  Change = Struct.new(:claim, :offset, :output, :dead)

  def initialize(partitions)
    @records, @done, @failed, @changes = Array.new(4) { Array.new(partitions) { [] } }
    @claims, @crashed_at, @noted = Array.new(3) { Array.new(partitions) }
    @crashes, @alone = Array.new(2) { Array.new(partitions, 0) }
    @buried = Array.new(partitions)
    @outputs, @dead, @ended = [], [], []
    @paused = false
    @assertions = 0
  end

  attr_accessor :assertions, :paused
  attr_reader :outputs, :dead, :claims, :problem

  def partitions = @records.each_index
  def produced(partition, plan) = @records[partition] << plan
  def size(partition) = @records[partition].size
  def unfinished = partitions.sum { |one| size(one) - @done[one].count(true) }
  def watermark(partition) = @done[partition].index { |done| !done } || @done[partition].size

  # @return [Integer] offset of the key's first record that the partition's owner has not finished
  def first(partition, key)
    finished = @changes[partition].select { |one| one.output || one.dead }.map(&:offset)
    (watermark(partition)...size(partition)).find do |at|
      @records[partition][at].key == key && !@done[partition][at] && !finished.include?(at)
    end
  end

  # Stores that a handler ran. The run has no effect if another claim owns the partition now.
  # @return [Plan, nil] nil: the handler must fail
  def ran(claim, message)
    at, offset = message.partition, message.offset
    plan = @records[at][offset]
    fails = message.attempt <= plan.failures
    if @claims[at] == claim
      assert_equal first(at, plan.key), offset, "the next record of a key"
      before = @failed[at][offset].to_i + @changes[at].count { |one| one.offset == offset }
      assert_equal before + 1, message.attempt
      change(claim, at, offset, fails, message.attempt)
    end
    plan unless fails
  rescue Minitest::Assertion => error
    @problem ||= error # stored for the test, since the runner rescues what a handler raises
    nil
  end

  def change(claim, at, offset, fails, attempt)
    place = "#{at}/#{offset}"
    change = Change.new(claim, offset, fails ? nil : place)
    change.dead = place if fails && attempt > RETRIES
    @changes[at] << change
  end

  def claimed(position)
    at = position.partition
    assert_nil @claims[at], "partition #{at} is free"
    @claims[at] = [position.member, position.generation]
    assert_equal [@crashes[at], @noted[at]], [position.crashes, position.noted]
    @alone[at] = 0
    @buried[at] = @crashes[at] > CRASHES && @noted[at]
    @changes[at] << Change.new(@claims[at], @noted[at], nil, "#{at}/#{@noted[at]}") if @buried[at]
  end

  def noted(claim, at, offset)
    @noted[at] = offset if @claims[at] == claim
  end

  def committed(claim, at)
    return if @claims[at] != claim || @changes[at].empty?
    @alone[at] += @changes[at].count { |one| one.output || one.dead } if alone?(at)
    @changes[at].each { |one| apply(at, one) }
    @changes[at] = []
    @noted[at] = nil
    @crashes[at] = 0 if !alone?(at) && (watermark(at) > @crashed_at[at].to_i || @buried[at])
  end

  # @return [Boolean] whether records of the partition run one at a time
  def alone?(at) = @crashes[at] >= CRASHES && !@buried[at]

  def apply(at, change)
    return @failed[at][change.offset] = @failed[at][change.offset].to_i + 1 unless
      change.output || change.dead
    @done[at][change.offset] = true
    @failed[at][change.offset] = nil
    @outputs << change.output if change.output
    @dead << change.dead if change.dead
  end

  # Removes the partition's owner and the uncommitted runs.
  def free(at)
    @claims[at] = nil
    @changes[at] = []
  end

  # @return [Array<Integer>] numbers of the member's partitions
  def owned(member) = partitions.select { |at| @claims[at]&.first == member }

  def left(member) = owned(member).each { |at| free(at) }

  # Stores that the member's process has ended, and that the member has not left the group.
  def crashed(member)
    owned(member).each do |at|
      again = @crashes[at] >= CRASHES
      before = (again || @crashed_at[at] == watermark(at)) ? @crashes[at] : 0
      @crashes[at] = (watermark(at) < size(at)) ? before + 1 : 0
      @crashed_at[at] = watermark(at) unless again
      free(at)
    end
  end

  def sought(at, offset)
    free(at)
    @done[at] = Array.new(offset, true)
    @failed[at] = []
    @crashes[at] = 0
    @noted[at] = nil
  end

  # @param position [Object] the engine's state of a partition, which must equal the model's
  def assert_same_as(position)
    at = position.partition
    # The engine resets `crashes` after 32 to 1,000 records: their run times decide how many.
    @crashes[at] = 0 if position.crashes.zero? && @alone[at] >= 32
    progress = Godwit::Work.const_get(:Progress).new(position.watermark, position.state)
    assert_equal [watermark(at), @claims[at]&.first, @crashes[at], @noted[at], @paused],
      [progress.watermark, position.member, position.crashes, position.noted, position.paused == 1]
    (watermark(at)...size(at)).each do |offset|
      assert_equal [!!@done[at][offset], @failed[at][offset].to_i],
        [progress.finished?(offset), progress.attempts(offset)], "#{at}/#{offset}"
    end
  end
end
