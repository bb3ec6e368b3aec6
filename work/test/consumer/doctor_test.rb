# frozen_string_literal: true

require_relative "../log/engines"

# The findings of Client#doctor. cli_test.rb tests the findings about processes that have died.
class WorkDoctorTest < Godwit::WorkCase
  include Engines

  Work = Godwit::Work

  def found(**options) = client.doctor(**options).findings
  def produce(*values) = client.produce_many("numbers", values.map { |value| [value, "k"] })
  def join = engine.join("g", engine.topics["numbers"], wake_up.path, [0, 0])

  test "paused groups, isolated partitions, and records that retention retains" do
    not_on :kafka, "the brokers delete old records, whether they are read or not"
    topic(partitions: 2, retain: 100)
    produce(1)
    produce(2)
    2.times do
      member = join
      engine.rebalance(member).claims.each { |one| engine.note(one, 0) }
      engine.rebalance(join, [member.id])
      engine.members.each { |one| engine.leave(one.id) }
    end
    engine.rebalance(join)
    client.pause("g", "numbers")
    paused, isolated = found
    assert_equal :paused, paused.kind
    assert_match(/`godwit-work resume g numbers`/, paused.text)
    assert_equal({kind: :isolated, group: "g", topic: "numbers", partition: 1, offset: 0,
      crashes: 2}, isolated.to_h.except(:text))
    engine.stub(:now, engine.now + 101_000) do
      assert_equal({group: "g", topic: "numbers", records: 1}, found.last.details)
      assert_match(/keeps 1 old records .*`godwit-work seek g numbers --to latest`/,
        found.last.text)
    end
    engine.stub(:now, engine.now + 31 * 86_400_000) { assert_empty engine.held }
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
    assert_empty found
    assert_equal %i[damaged damaged], found(check: true).map(&:kind)
    assert_match(/numbers, partition 0, offset 1: a block has a wrong CRC-32: .*--to 3`/,
      found(check: true)[0].text)
  end

  test "check ends, whatever a row says of its records" do
    not_on :kafka, "the brokers check their own files"
    engine.append([[topic, 0, block("1"), 1]] * 2)
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
    assert_predicate diagnosis, :frozen?
    assert_includes diagnosis.findings.map(&:kind), :damaged
    assert_match(/restore it from a backup/, diagnosis.findings[0].text)
  end
end
