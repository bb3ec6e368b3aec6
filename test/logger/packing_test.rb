# frozen_string_literal: true

require "test_helper"
require "godwit/logger"
require_relative "made_records"

# Packing makes one message of several records (`join`), and gets the records back (`split`).
class LoggerPackingTest < Godwit::TestCase
  include MadeRecords

  PACKING = Godwit::Logger.const_get(:Packing)
  MARK = PACKING::BATCH

  # Defines a test for the extension's `split`, if there is one, and a test for `split` in Ruby.
  def self.each_kind(name, &block)
    both = [PACKING.method(:split), PACKING.method(:split).super_method].compact
    both.each_with_index { |one, index| test("#{index}: #{name}") { instance_exec(one, &block) } }
  end

  def packed(seq, **options) = PACKING.pack(*frames(seq, **options))

  each_kind "joined records are split into the same frames, as many as have room" do |split|
    records = [packed(1), packed(2, text: ""), packed(3, level: 3), packed(4, text: "x" * 1000)]
    assert_equal 4, PACKING.join(records, 0, 1 << 20).last
    batch, count = PACKING.join(records, 1, records[1, 2].sum { |record| record.bytesize + 4 })
    assert_equal 2, count
    assert_equal records[1, 2].map { |record| PACKING.frames(record) }, split.call([MARK, batch])
    assert_equal 1, PACKING.join(records, 3, 10).last
    assert_equal 2, PACKING.join([*records.first(2), ["a line"], records[3]], 0, 1 << 20).last
  end

  each_kind "a message that is no batch is refused" do |split|
    batch, = PACKING.join([packed(1), packed(2)], 0, 1 << 20)
    assert_nil split.call("a line")
    assert_nil split.call(frames(1))
    assert_nil split.call(["another", batch])
    assert_nil split.call([MARK, ""])
    assert_nil split.call([MARK, batch, ""])
    (1...batch.bytesize).each do |size|
      cut = split.call([MARK, batch.byteslice(0, size)])
      assert_nil cut unless size == 4 + packed(1).bytesize
    end
    random = Random.new(19)
    500.times do
      assert_includes [NilClass, Array], split.call([MARK, random.bytes(random.rand(60))]).class
    end
    [[5, 0, 0], [6, 1, 0], [6, 0, 1], [20, 4, 11], [0xFFFFFFFF, 0, 0],
      [20, 0xFFFF, 0xFFFFFFFF]].each do |whole, topic, header|
      assert_nil split.call([MARK, [whole, topic, header].pack("NnN") + "x" * 14]),
        [whole, topic, header].inspect
    end
  end
end
