# frozen_string_literal: true

require "log/engines"
require "json"

# Members of groups on Kafka. log/groups_test.rb and consumer/doctor_test.rb test all engines.
class WorkKafkaGroupsTest < Godwit::WorkCase
  include Engines

  def engine
    @engine ||= begin
      KafkaLog.clean
      own(KafkaLog.open(**KafkaLog::SHORT))
    end
  end

  def path = (@listener ||= own(engine.listen)).path
  def join = engine.join("g", topic(partitions: 2), path, [0, 0])
  def positions = engine.positions("g", topic(partitions: 2))

  # Ends the member without leaving its group, as kill -9 does.
  def crash(member)
    gone = engine.instance_variable_get(:@memberships).delete(member.id)
    gone.instance_variable_get(:@handle).close
  end

  # Writes two records to each partition.
  def unread
    engine.append([0, 1].map { |partition| [topic(partitions: 2), partition, block("1", "2"), 2] })
  end

  def crashes_after(member)
    crash(member)
    (@claims = claims(@last = join, 2)).map(&:crashes)
  end

  test "a group by its name in any encoding, until the log is closed" do
    member = engine.join("grün", topic(partitions: 2), path, [0, 0])
    claims(member, 2)
    ["grün", "grün".encode(Encoding::ISO_8859_1)].each do |name|
      client.pause(name, "numbers")
      assert_equal [true], client.groups.map(&:paused)
      client.resume(name, "numbers")
      assert_equal [false], client.groups.map(&:paused)
    end
    assert_refused(Godwit::Work::TopicError, -> { client.pause("grun", "numbers") } =>
      /has never read topic "numbers": `godwit-work groups`/)
    ["gr\xfcn", "gr\0n", "grün".b, "", :g, nil].each do |name|
      assert_refused(Godwit::ArgumentValueError,
        -> { client.pause(name, "numbers") } => /group.* a String of valid characters/)
    end
    other = KafkaLog.open(**KafkaLog::SHORT).tap(&:close)
    assert_refused(Godwit::Work::ClosedError, -> { other.groups.names } => /connect again/)
  end

  test "a commit of a partition that another member has fails, with its outputs" do
    numbers = topic(partitions: 2)
    old = join
    held = claims(old, 2)
    newer = join
    moved = nil
    eventually do
      engine.rebalance(newer)
      moved = engine.rebalance(old).surplus.first
    end
    lost = held[moved]
    engine.commit([lost]) # the member `old` owns the partition until the release
    engine.release([lost])
    claim = nil
    eventually { engine.rebalance(old) && claim = engine.rebalance(newer).claims.first }
    assert_equal [moved, newer.id], [claim.partition, claim.member]
    lost.watermark = 9
    says = /no longer of this member/
    assert_refused(Godwit::Work::LostError,
      -> { engine.commit([lost]) { [[numbers, 0, block("out"), 1]] } } => says,
      -> { engine.note(lost, 3) } => says, -> { engine.fetch(lost, 0, 1) } => says)
    claim.watermark = 4
    engine.commit([claim])
    assert_equal [4, newer.id], positions[moved].to_a.values_at(5, 3)
    assert_empty client.each("numbers").to_a
  end

  test "the ends of processes that had records to handle are counted, and isolate partitions" do
    claims(dead = join, 2)
    assert_equal [0, 0], crashes_after(dead)
    unread
    engine.note(@claims[0], 3)
    assert_equal [1, 1], crashes_after(@last)
    assert_equal [3, nil], @claims.map(&:noted)
    @claims[0].watermark = 1
    engine.commit([@claims[0]])
    assert_equal [1, 2], crashes_after(@last)
    assert_equal [:isolated], client.doctor.findings.map(&:kind)
    engine.leave(@last.id)
    assert_equal [1, 2], positions.map(&:crashes), "a clean end"
  end

  test "an exception in the middle of a fetch loses no record" do
    unread
    claim = claims(join, 2)[0]
    native = Godwit::Work.const_get(:Kafka)::Native
    drain = native.method(:drain)
    taken = []
    eventually do
      native.stub(:drain, lambda { |*arguments|
        taken = drain.call(*arguments)
        raise NoMemoryError, "no memory for a block" if taken.any?
        taken
      }) { engine.fetch(claim, 0, 1 << 20).any? }
    rescue NoMemoryError
      true
    end
    assert_equal [0], taken.map(&:offset)
    found = []
    eventually { (found = engine.fetch(claim, 0, 1 << 20)).any? }
    assert_equal [[0, 2]], found.map { |block| [block.offset, block.finish] }
  end

  test "doctor: the storage, paused groups, stuck handlers, no members" do
    unread
    claims(member = join, 2)
    assert_empty client.doctor(check: true).findings
    assert_equal [%i[brokers librdkafka topics rights], 1],
      [client.doctor.storage.keys, client.doctor.storage[:topics]]
    assert_includes client.doctor.storage[:rights], "produce: Write on the topic"
    client.pause("g", "numbers")
    since = (Time.now.to_r * 1000).to_i - 500_000
    engine.report(member, JSON.generate([
      {topic: "numbers", partition: 1, offset: 7, since: since, backtrace: %w[here]}
    ]))
    assert_equal %i[paused stuck], client.doctor.findings.map(&:kind).sort
    stuck = client.doctor.findings.find { |one| one.kind == :stuck }
    assert_match(/process #{Process.pid}, .* topic numbers, 1\/7, for 5\d\d s/, stuck.text)
    engine.report(member, nil)
    engine.leave(member.id)
    client.resume("g", "numbers")
    assert_equal [:no_member], client.doctor.findings.map(&:kind)
  end

  test "a runner may leave while the log is closed" do
    claims(member = join, 2)
    one = engine
    membership = one.instance_variable_get(:@memberships)[member.id]
    calls = [-> { one.close }, -> { membership.close }, -> { one.close }]
    calls.map { |call| in_thread(&call) }.each { |thread| ended(thread) }
    assert_predicate one, :closed?
  end

  test "each begins at a time" do
    client.topic("t", partitions: 1, format: :text)
    first = client.produce("t", "a")
    second = first
    second = client.produce("t", "b") until second.timestamp > first.timestamp
    {first.timestamp => first.offset, second.timestamp => second.offset}.each do |from, offset|
      assert_equal offset, client.each("t", from: from).first.offset
    end
    assert_empty client.each("t", from: Time.now + 3_600).to_a
    assert_equal "b", client.each("t", from: second.timestamp).first.value
  end

  test "an offset that a broker that starts does not tell is asked for again" do
    numbers = topic(partitions: 2)
    engine.append([[numbers, 1, block("1", "2"), 2]])
    list = Godwit::Work.const_get(:Kafka)::PartitionList
    original = list.method(:entry)
    read = 0
    first_without = lambda do |pointer|
      original.call(pointer).tap do |entry|
        entry.offset = -1001 if (read += 1) == 1 # librdkafka's OFFSET_INVALID; no error is set
      end
    end
    list.stub(:entry, first_without) { assert_equal [[0, 0], [0, 2]], engine.bounds(numbers) }
    assert_equal 5, read
  end

  test "a runner whose time is over ends its own waits, and not those of the next one" do
    engine.listen.tap(&:abandon).close
    numbers = topic(partitions: 2)
    held = claims(join, 2)
    places = engine.commit(held) { [[numbers, 0, block("1", "2"), 2]] }
    assert_equal [[0, 1]], places.map(&:first)
  end
end
