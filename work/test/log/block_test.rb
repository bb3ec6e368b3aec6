# frozen_string_literal: true

require "work_helper"

# Block encodes and decodes records. StoredBlock adds a version and a checksum to a block.
class WorkBlockTest < Godwit::WorkCase
  Block = Godwit::Work.const_get(:Block)
  Stored = Godwit::Work.const_get(:StoredBlock)

  # @return [Array<Array>] value, key and headers of each record
  def records(block)
    (0...block.count).map { |at| [block.values[at], block.keys&.[](at), block.headers(at)] }
  end

  def decoded(*columns) = Block.new(Block.encode(*columns), 5, 7)

  test "bytes stay as they are" do
    bytes = (0..255).map(&:chr).join.b
    block = decoded([bytes, "\u00e4"], [bytes.reverse, "\u00e4"], [[["h", bytes]], nil])
    values, keys = block.values, block.keys
    assert_equal [bytes, "\u00e4".b, bytes.reverse], [values[0], values[1], keys[0]]
    assert_equal [["h", bytes]], block.headers(0)
    assert_equal [Encoding::BINARY], [values[0], keys[1]].map(&:encoding).uniq
    assert_equal Encoding::UTF_8, block.headers(0)[0][0].encoding
  end

  test "random records come back" do
    random = Random.new(Minitest.seed)
    text = -> { random.bytes(random.rand(20)) if random.rand(4) > 0 }
    200.times do
      count = random.rand(1..20)
      values, keys = Array.new(2) { Array.new(count) { text.call } }
      headers = Array.new(count) { Array.new(random.rand(3)) { [text.call.to_s, text.call] } }
      found = records(decoded(values, keys, headers))
      assert_equal values.zip(keys, headers).flatten, found.flatten.map { |bytes| bytes&.b }
      assert_equal headers.map(&:size), found.map { |record| record[2].size }
    end
  end

  def read(bytes) = Stored.new(bytes, 0, 0, "topic x")

  test "each changed byte is seen, and a block that is cut short" do
    bytes = Stored.seal(Block.encode(%w[one two], %w[a b], [[%w[h v]], nil]))
    assert_equal %w[two b], [read(bytes).values[1], read(bytes).keys[1]]
    bytes.bytesize.times do |at|
      wrong = bytes.dup
      wrong.setbyte(at, wrong.getbyte(at) ^ 1)
      error = assert_raises(Godwit::Work::CorruptError) { read(wrong) }
      assert_match(/\Atopic x: a block (?:has a wrong CRC-32|of version \d+)/, error.message)
      assert_raises(Godwit::Work::CorruptError) { read(bytes.byteslice(0, at)) }
    end
  end
end
