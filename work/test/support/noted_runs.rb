# frozen_string_literal: true

# The runs of records of the topic `from` by consumers of the group `group` in other processes. Each
# line of `file("notes")` is a run: process, key, partition, offset, and the record's id or attempt.
module NotedRuns
  # A run of a record's handler.
  Run = Struct.new(:pid, :key, :partition, :offset, :number) do
    def place = [partition, offset]
  end

  # @return [Array<Run>] the runs in the notes' bytes from `from` to `to`
  def runs(from = 0, to = File.size(file("notes")))
    File.binread(file("notes"), to - from, from).to_s.lines.grep(/\n\z/).map do |line|
      pid, key, *numbers = line.split
      Run.new(pid.to_i, key, *numbers.map(&:to_i))
    end
  end

  # @return [Hash{Integer => Object}] the committed progress by partition
  def committed
    client.engine.positions(group, client.engine.topics.fetch(from)).to_h do |one|
      [one.partition, Godwit::Work.const_get(:Progress).new(one.watermark, one.state)]
    end
  end

  # Stores which records are committed now: none of these records may run again.
  def look = committed.tap { |found| looks << [found, File.size(file("notes"))] }
  def looks = @looks ||= []

  # @return [Array<Run>] wrong runs: an earlier {#look} found that their records were committed
  def again
    ends = looks.drop(1).map(&:last) << File.size(file("notes"))
    looks.zip(ends).flat_map do |(committed, from), to|
      runs(from, to).select { |run| committed[run.partition]&.finished?(run.offset) }
    end
  end

  # Asserts that the records of a key ran in the order of their offsets.
  def assert_order(ran)
    ran.uniq(&:place).group_by { |run| [run.key, run.partition] }.each do |key, first|
      assert_equal first.map(&:offset), first.map(&:offset).sort, "key #{key}"
    end
  end
end
