# frozen_string_literal: true

require "test_helper"
require "godwit/logger"
require_relative "made_records"

# Packed records, and messages of several. The extension's and Ruby's do the same.
class LoggerPackingTest < Godwit::TestCase
  include MadeRecords

  RUBY = Godwit::Logger.const_get(:Packing)
  KINDS = [Godwit::Logger.const_get(:Native)::Packing, RUBY].uniq
  MARK = RUBY::BATCH

  def self.each_kind(name, &block)
    KINDS.each { |kind| test("#{kind}: #{name}") { instance_exec(kind, &block) } }
  end

  def packed(seq, **options) = RUBY.pack(*frames(seq, **options))

  each_kind "a record is its header's parts in order, with the numbers" do |packing|
    parts = [
      "{\"seq\":", 9, 3, "INFO.größe.web1.".b, ",\"thread\":", ",\"host\":\"wéb1\"",
      1_795_177_867_123_456_789, -5, 0, "tëxt", ",\"tags\":[1]", nil, nil
    ]
    header =
      '{"seq":9,"tseq":3,"t_ns":1795177867123456789,"mono_ns":-5,"thread":0,"host":"wéb1",' \
      '"tags":[1]}'
    record = packing.record(*parts)
    assert_equal [parts[3], header.b, "tëxt".b], RUBY.frames(record).map(&:b)
    assert_equal Encoding::BINARY, record.encoding
    assert_equal (1 << 62).to_s.b,
      RUBY.frames(
        packing.record("", 1 << 62, 1, "", "", "", 0, 0, 0, "", nil, nil, nil)
      )[
        1
      ][
        /\A\d+/
      ]
  end

  each_kind "joined records are split into the same frames, as many as have room" do |packing|
    records = [packed(1), packed(2, text: ""), packed(3, level: 3), packed(4, text: "x" * 1000)]
    assert_equal 4, packing.join(records, 0, 1 << 20).last
    batch, count = packing.join(records, 1, records[1, 2].sum { |record| record.bytesize + 4 })
    assert_equal 2, count
    assert_equal records[1, 2].map { |record| RUBY.frames(record) }, packing.split([MARK, batch])
    assert_equal 1, packing.join(records, 3, 10).last
    assert_equal 2, packing.join([*records.first(2), ["a line"], records[3]], 0, 1 << 20).last
  end

  each_kind "a message that is no batch is refused" do |packing|
    batch, = packing.join([packed(1), packed(2)], 0, 1 << 20)
    assert_nil packing.split("a line")
    assert_nil packing.split(frames(1))
    assert_nil packing.split(["another", batch])
    assert_nil packing.split([MARK, ""])
    assert_nil packing.split([MARK, batch, ""])
    (1...batch.bytesize).each do |size|
      cut = packing.split([MARK, batch.byteslice(0, size)])
      assert_nil cut unless size == 4 + packed(1).bytesize
    end
    random = Random.new(19)
    500.times do
      assert_includes [NilClass, Array], packing.split([MARK, random.bytes(random.rand(60))]).class
    end
    [[5, 0, 0], [6, 1, 0], [6, 0, 1], [20, 4, 11], [0xFFFFFFFF, 0, 0],
      [20, 0xFFFF, 0xFFFFFFFF]].each do |whole, topic, header|
      assert_nil packing.split([MARK, [whole, topic, header].pack("NnN") + "x" * 14]),
        [whole, topic, header].inspect
    end
  end
end
