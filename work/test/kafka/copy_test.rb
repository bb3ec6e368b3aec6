# frozen_string_literal: true

require "log/engines"

# Tests of `godwit-work copy` from a file to Kafka.
class WorkKafkaCopyTest < Godwit::WorkCase
  include Engines

  Work = Godwit::Work
  GROUP = "billing"
  DAY = 86_400_000 # ms

  def setup
    super
    KafkaLog.clean
    @time = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) - 3 * DAY
    @file = Work::Client.new(own(sqlite(clock: -> { @time += 1_000 })))
  end

  def kafka = @kafka ||= Work::Client.new(own(KafkaLog.open(**KafkaLog::SHORT)))
  def from = "sqlite:#{path}"

  def copy(*urls)
    urls = [from, KafkaLog.url] if urls.empty?
    start_command([*GODWIT_WORK, "copy", *urls], env: {"GODWIT_WORK_URL" => nil})
  end

  def copier(from = @file, to = kafka) = Work.const_get(:LogCopy).new(from.engine, to.engine)
  def copied = assert_child(copy.finish).stdout.lines(chomp: true)

  # @return [String] standard error of a copy that fails
  def refused(*urls)
    result = copy(*urls).finish
    refute_predicate result, :success?
    result.stderr
  end

  # @return [Array<Array>] the fields of a topic's records, except the offsets
  def records(client, topic)
    client.each(topic).map do |one|
      [one.partition, one.raw, one.key, one.headers, one.timestamp]
    end
  end

  def assert_copied = assert_equal(records(@file, "payments"), records(kafka, "payments"))

  # @return [Array<Object>] the progress of the group in Kafka, by partition
  def progress
    kafka.engine.positions(GROUP, kafka.engine.topics["payments"])
      .map { |one| Work.const_get(:Progress).new(one.watermark, one.state) }
  end

  # Writes records. Some have a key, headers or both; some have no value.
  def write(numbers)
    @file.produce_many("payments", numbers.map { |number|
      [("value #{number}".ljust(200) unless (number % 7).zero?),
        ("key #{number % 5}" if number.odd?),
        ({"number" => number.to_s, "none" => nil} if (number % 3).zero?)]
    })
  end

  def payments(**more)
    @file.topic("payments", partitions: 3, format: :text, retain: 30 * 86_400, **more)
  end

  # Commits progress of the group GROUP to the file.
  # @param watermarks [Array<Integer>] by partition
  # @param finished [Array<Integer>] finished offsets beyond the watermarks
  def commit(topic, watermarks, finished: [])
    engine = @file.engine
    member = engine.join(GROUP, topic, "/nowhere", [0] * watermarks.size)
    claims = engine.rebalance(member).claims
    engine.commit(claims.sort_by(&:partition).zip(watermarks).map { |one, watermark|
      progress = Work.const_get(:Progress).new(watermark)
      finished.each { |offset| progress.finish(offset) }
      progress.fail(watermark)
      one.dup.tap { |copy| copy.watermark, copy.state = watermark, progress.dump }
    })
    engine.leave(member.id)
  end

  test "records keep partitions, order, times, keys and headers; groups go on where they were" do
    topic = payments(partitioner: :murmur2)
    (0...90).each_slice(30) { |numbers| write(numbers) }
    @file.topic("empty", partitions: 1, retain: {bytes: 1 << 20})
    commit(topic, [3, 4, 5], finished: [7])
    @file.pause(GROUP, "payments")
    assert_equal ["empty: 0 records, 0 of them were there",
      "payments: 90 records, 0 of them were there", "3 positions of groups"], copied
    assert_copied
    there = kafka.topics.to_h { |one| [one.name, one] }
    assert_nil topic.difference(there["payments"])
    assert_equal [30 * 86_400, 1 << 20],
      [there["payments"].retain, there["empty"].retain_bytes]
    assert kafka.groups.first.paused
    assert_equal [3, 4, 5], progress.map(&:watermark)
    progress.each do |one|
      assert_equal [true, false, 1],
        [one.finished?(7), one.finished?(8), one.attempts(one.watermark)]
    end
  end

  test "a copy that was killed goes on; each record is there once" do
    payments
    (0...60_000).each_slice(500) { |numbers| write(numbers) }
    child = copy
    eventually do
      topic = kafka.engine.topics["payments"]
      topic && kafka.engine.bounds(topic).sum(&:last) > 0
    end
    child.signal(:KILL).finish
    count = copied.first[/\d+ of them/].to_i
    assert_includes 1..60_000, count
    assert_copied
    assert_equal "payments: 60000 records, 60000 of them were there", copied.first
  end

  test "offsets begin at 0, though retention has deleted the first records of the file" do
    topic = payments(partitions: 1, retain: 1.5 * 86_400)
    write(0...10)
    @time += 2 * DAY
    write(10...15)
    commit(topic, [10])
    @file.engine.retain
    assert_equal 10, @file.engine.bounds(topic).first.first
    copied
    assert_equal 5, kafka.each("payments").count
    assert_equal [0], progress.map(&:watermark)
  end

  test "what stands against a copy is an error that names the fix" do
    payments
    write(0...10)
    kafka.topic("payments", partitions: 3, format: :text)
    kafka.produce("payments", "other", key: "key 1")
    assert_match(/has other records in partition \d there: delete the topic there/, refused)
    [@file, kafka].zip([3, 2]) { |client, count| client.topic("sizes", partitions: count) }
    assert_match(/exists there: it has partitions: 2, and not 3: delete it there/, refused)
    member = @file.engine.join(GROUP, @file.engine.topics["payments"],
      own(@file.engine.listen).path, [0] * 3)
    assert_match(/process #{Process.pid} consumes in group "billing": stop/, refused)
    @file.engine.leave(member.id)
    assert_match(/no log in .*none\.db/, refused("sqlite:#{scratch_dir}/none.db", KafkaLog.url))
    [[from, "sqlite:#{path}2"], [KafkaLog.url, KafkaLog.url]].each do |urls|
      assert_match(/copy goes from a file .* to a cluster/, refused(*urls))
    end
    assert_raises(Godwit::UnsupportedError) { copier(kafka, @file) }
    assert_match(/which log to copy to\?/, refused(from))
  end

  test "a producer that goes on is an error" do
    payments
    write(0...10)
    assert_refused(Godwit::StateError, -> { copier.run { write(10...12) } } =>
      /2 records came during the copy: stop the producers, and copy again/)
    copier.run { nil }
    assert_copied
  end

  test "a topic that another program made gets the format, the partitioner and the limits" do
    topic = payments(partitioner: :murmur2)
    write(0...10)
    kafka.engine.cluster.create("payments", 3, 1, {})
    copied
    there = kafka.engine.topics["payments"]
    assert_equal %w[text murmur2], [there.format, there.partitioner.to_s]
    assert_equal topic.retain, there.retain
  end

  test "records that only a group keeps are an error: Kafka would delete them" do
    topic = payments(partitions: 1, retain: 86_400)
    write(0...10)
    commit(topic, [0])
    @time += 2 * DAY
    assert_match(/group "billing" has not handled records of topic "payments" .*: let it/, refused)
    @file.topic("payments", retain: 30 * 86_400)
    assert_equal "payments: 10 records, 0 of them were there", copied.first
  end

  test "positions replace an older seek and pause there, but not those of a group that went on" do
    topic = payments(partitions: 1)
    write(0...10)
    commit(topic, [4])
    copied
    kafka.pause(GROUP, "payments")
    kafka.engine.state
      .write("seek", GROUP, "payments", 0, {"id" => "abc", "offset" => 9})
    copied
    assert_equal [false, 6], [kafka.groups.first.paused, kafka.groups.first.lag]
    assert_nil kafka.engine.state["seek", GROUP, "payments", 0]
    kafka.seek(GROUP, "payments", to: 8)
    assert_match(/has handled more of topic "payments" there than here/, refused)
    assert_equal 2, kafka.groups.first.lag
  end
end
