# frozen_string_literal: true

require_relative "../log/engines"
require "socket"

# Client#doctor.
class WorkDoctorTest < Godwit::WorkCase
  extend Engines
  include Engines::Tools

  Work = Godwit::Work

  def found(**options) = client.doctor(**options).findings
  def produce(*values) = client.produce_many("numbers", values.map { |value| [value, "k"] })
  def join(place) = engine.join("g", engine.topics["numbers"], place, [0, 0])

  # A place of a process that lives, on the memory engine as well.
  def living(&block)
    wake_up = Work.const_get(:WakeUp).new("#{path}.members")
    block.call(wake_up.path)
  ensure
    wake_up.close
  end

  each_engine "a log that is well" do
    not_on :kafka, "the storage is brokers, and no file"
    topic(partitions: 2)
    living do |place|
      member = join(place)
      produce(1)
      engine.rebalance(member)
      diagnosis = client.doctor(check: true)
      assert_empty diagnosis.findings
      assert_predicate diagnosis, :frozen?
      *file, version = diagnosis.storage.values
      assert_match(/\A3\.\d+\.\d+/, version)
      assert_equal %i[path bytes wal_bytes sqlite], diagnosis.storage.keys
      wanted = [path, File.size(path), File.size("#{path}-wal")] if @kind == "sqlite"
      assert_equal wanted || [":memory:", 0, 0], file
    end
  end

  each_engine "a member that has died, and a group without members" do
    not_on :kafka, "the brokers forget a member that has died after its session"
    FileUtils.mkdir_p("#{path}.members")
    topic(partitions: 2)
    produce(1, 2)
    member = join("/nowhere/123-abc")
    engine.dead << member.id if @kind == "memory"
    assert_equal %i[dead_member no_member], found.map(&:kind)
    assert_equal({kind: :dead_member, group: "g", topic: "numbers", member: member.id,
      process: 123, host: nil}, found[0].to_h.except(:text))
    assert_match(/process 123, member \d+ of group g, has died: .*start one/, found[0].text)
    assert_equal 2, found[1].details[:lag]
    assert_match(/2 unread records of topic numbers and no member: start/, found[1].text)
    engine.leave(member.id)
    assert_equal %i[no_member], found.map(&:kind)
  end

  test "paused groups, isolated partitions, and records that retention keeps" do
    not_on :kafka, "the brokers delete old records, whether they are read or not"
    topic(partitions: 2, retain: 100)
    produce(1)
    produce(2)
    living do |place|
      [1, 2].each do
        member = join(place)
        engine.rebalance(member).claims.each { |one| engine.note(one, 0) }
        engine.rebalance(join(place), [member.id])
        engine.members.each { |one| engine.leave(one.id) }
      end
      engine.rebalance(join(place))
      client.pause("g", "numbers")
      assert_equal %i[paused isolated], found.map(&:kind)
      assert_match(/`godwit-work resume g numbers`/, found[0].text)
      assert_equal({group: "g", topic: "numbers", partition: 1, offset: 0, crashes: 2},
        found[1].details)
      engine.stub(:now, engine.now + 101_000) do
        assert_equal({group: "g", topic: "numbers", records: 1}, found.last.details)
        assert_equal({["numbers", "g"] => 1}, engine.held)
        assert_match(/keeps 1 old records .*`godwit-work seek g numbers --to latest`/,
          found.last.text)
      end
      engine.stub(:now, engine.now + 31 * 86_400_000) { assert_empty engine.held }
    end
  end

  test "stuck handlers" do
    not_on :kafka, "a member of another process than this one takes no part"
    topic(partitions: 2)
    living do |place|
      member = join(place)
      report = {topic: "numbers", partition: 1, offset: 7, since: engine.now - 500_000,
                backtrace: %w[here there]}
      engine.report(member, JSON.generate([report]))
      assert_equal %i[stuck], found.map(&:kind)
      assert_equal({group: "g", topic: "numbers", member: member.id, process: Process.pid,
        host: ::Socket.gethostname, partition: 1, offset: 7, seconds: 500,
        backtrace: %w[here there]}, found[0].details)
      assert_match(/topic numbers, 1\/7, for 500 s/, found[0].text)
      engine.report(member, nil)
      assert_empty found
    end
  end

  test "check reads all blocks: each damaged one is a finding" do
    not_on :kafka, "the brokers check their own files"
    own = topic(partitions: 2)
    well, damaged = stored("1"), stored("1", "2").tap { |bytes| bytes.setbyte(-1, 0) }
    Work.const_get(:StoredBlock).stub(:seal, ->(bytes) { bytes }) do
      engine.append([0, 1].flat_map { |partition|
        [[own, partition, well, 1], [own, partition, damaged, 2]]
      } + [[own, 1, well, 1]])
    end
    assert_empty client.doctor.findings
    assert_equal %i[damaged damaged], found(check: true).map(&:kind)
    assert_match(/numbers, partition 0, offset 1: a block has a wrong CRC-32: .*--to 3`/,
      found(check: true)[0].text)
  end

  test "check ends, whatever a row says of its records" do
    not_on :kafka, "the brokers check their own files"
    own = topic(partitions: 2)
    engine.append([[own, 0, block("1"), 1]] * 2)
    [0, -5, 1 << 40].each do |count|
      engine.file.transaction do |database|
        database.rows("UPDATE godwit_blocks SET count = ?", count)
      end
      assert_empty found(check: true)
    end
  end

  test "a damaged file" do
    not_on :kafka, "the brokers check their own files"
    topic(partitions: 2)
    produce(*Array.new(200) { |index| "x#{index}" * 1_000 })
    engine.close
    SQLite3::Database.new(path).tap { |database| database.execute("VACUUM") }.close
    pages = File.size(path) / 16_384
    assert_operator pages, :>, 10
    (pages / 2...pages).each { |page| File.binwrite(path, "damage" * 100, page * 16_384) }
    @engine = @client = nil
    diagnosis = client.doctor(check: true)
    assert_includes diagnosis.findings.map(&:kind), :damaged
    assert_match(/restore it from a backup/, diagnosis.findings[0].text)
  end
end
