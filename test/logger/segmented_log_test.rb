# frozen_string_literal: true

require "test_helper"

# After a crash the files of a SegmentedLog have all appended records, whole and in order, and
# nothing else. durable_test.rb, spool_test.rb and durable_process_test.rb test released files and
# full disks.
class LoggerSegmentsTest < Godwit::TestCase
  SegmentedLog = Godwit::Logger.const_get(:SegmentedLog)

  def folder = @folder ||= File.join(scratch_dir, "segments").tap { |name| Dir.mkdir(name) }

  def open_segments(**options, &block) = own(SegmentedLog.new(folder, **options, &block))

  def fill(segments, range, size: 20)
    range.each { |seq| segments.append(SegmentedLog.entry(seq, record(seq, size)), seq) }
    segments
  end

  def record(seq, size = 20) = "#{seq} ".ljust(size, "x").b

  def read_all(segments, most: 4096, from: 0)
    cursor = segments.after(from)
    seen = []
    while (chunk = segments.read(cursor, most))
      SegmentedLog.each_entry(chunk.entries) { |seq, record| seen << [seq, record] }
      assert_equal chunk.last, seen.last.first
      cursor = chunk.cursor
    end
    seen
  end

  def files = Dir[File.join(folder, "*.seg")].sort

  test "an entry is length, CRC-32, seq and record" do
    bytes = SegmentedLog.entry(7, "abc")
    assert_equal [3, Zlib.crc32("\0\0\0\0\0\0\0\7abc"), 7, "abc"], bytes.unpack("NNQ>a*")
  end

  test "appended records are read in order, over files and in pieces of any size" do
    [17, 100, 1000, 1 << 20].each do |most|
      @folder = File.join(scratch_dir, "of #{most}").tap { |name| Dir.mkdir(name) }
      segments = fill(open_segments(segment_bytes: 500), 1..100)
      assert_operator files.size, :>, 5
      assert_equal (1..100).map { |seq| [seq, record(seq)] }, read_all(segments, most: most)
      assert_equal (51..100).to_a, read_all(segments, most: most, from: 50).map(&:first)
      assert_equal [], read_all(segments, from: 100)
    end
  end

  test "after a restart the log continues: entries, the released seq, the last seq" do
    fill(open_segments(segment_bytes: 200), 1..50).release(20)
    again = open_segments(segment_bytes: 200)
    assert_equal [20, 50], [again.released, again.last]
    assert_equal (21..50).to_a, read_all(again, from: again.released).map(&:first)
    fill(again, 51..60)
    assert_equal (21..60).to_a, read_all(open_segments, from: 20).map(&:first)
  end

  test "the last seq is known after a restart even when all was released, and without the file " \
    "that holds it" do
    fill(open_segments(segment_bytes: 200), 1..50).release(50)
    File.unlink(File.join(folder, "released"))
    assert_equal 50, open_segments.last
  end

  test "a file that was begun and no more does not hide the last seq" do
    fill(open_segments, 1..5)
    ["", "\0" * 10].each do |torn|
      File.binwrite(File.join(folder, "00000000000000ff.seg"), torn)
      assert_equal 5, open_segments.last
    end
  end

  test "the newest note, and later entries, are read at the start" do
    notes = 0
    fill(open_segments(segment_bytes: 200, checkpoint: -> { "note #{notes += 1}" }), 1..50)
    found = []
    open_segments { |seq, record| found << [seq, record] }
    assert_equal [0, "note #{notes}"], found.first
    assert_equal (found[1][0]..50).map { |seq| [seq, record(seq)] }, found.drop(1)
    assert_operator found.size, :<, 10
  end

  test "wherever the last file is torn, whole records stay and the rest is cut" do
    fill(open_segments(segment_bytes: 300), 1..15)
    last = files.last
    bytes = File.binread(last)
    found = []
    # Yields the checkpoint at the start of the last file as seq 0, then this file's entries.
    open_segments { |seq, _| found << seq }
    before = 15 - (found.size - 1)
    note, entry = 24, 36
    (0..bytes.bytesize).step((RUBY_ENGINE == "jruby") ? 13 : 5) do |size|
      File.binwrite(last, bytes.byteslice(0, size))
      segments = open_segments
      whole = SegmentedLog.each_entry(bytes.byteslice(0, size)) { |*| nil }
      expected = (1..15).first(before + [(whole - note) / entry, 0].max)
      assert_equal expected, read_all(segments).map(&:first), "torn at #{size} of #{bytes.bytesize}"
      assert_equal size - whole, segments.cut
      fill(segments, [99])
      again = open_segments
      assert_equal [*expected, 99], read_all(again).map(&:first)
      assert_equal 0, again.cut
      files.each { |name| File.unlink(name) if name > last }
    end
    assert_operator found.size, :>, 1
  end

  test "a changed byte is detected, and ends its file; the next file is read" do
    fill(open_segments(segment_bytes: 300), 1..30)
    bytes = File.binread(files[1])
    bytes.setbyte(100, bytes.getbyte(100) ^ 1)
    File.binwrite(files[1], bytes)
    segments = open_segments(segment_bytes: 300)
    seqs = read_all(segments, most: 64).map(&:first)
    assert_equal [seqs.sort, 1, 30], [seqs, seqs.first, seqs.last]
    assert_operator seqs.size, :<, 30
    assert_operator segments.cut, :>, 0
  end

  test "a byte that is changed in the file in use is survived too" do
    segments = fill(open_segments, 1..5)
    bytes = File.binread(files.last)
    bytes.setbyte(-1, 0)
    File.binwrite(files.last, bytes)
    assert_equal (1..4).to_a, read_all(segments).map(&:first)
    fill(segments, [6])
    assert_equal [1, 2, 3, 4, 6], read_all(segments).map(&:first)
    segments.release(4)
    refute segments.empty?
    segments.release(6)
    assert segments.empty?
  end

  test "rubbish is no segment" do
    random = Random.new(1)
    15.times do
      files.each { |name| File.unlink(name) }
      File.binwrite(File.join(folder, "0000000000000001.seg"), random.bytes(random.rand(200)))
      File.binwrite(File.join(folder, "0000000000000002.seg"), random.bytes(random.rand(200)))
      File.binwrite(File.join(folder, "released"), random.bytes(random.rand(20)))
      assert_equal [5], read_all(fill(open_segments, [5])).map(&:first)
    end
  end

  test "an interrupt when an entry is written, and not yet counted, waits" do
    segments = fill(open_segments, [1])
    file = segments.instance_variable_get(:@file)
    write = file.method(:syswrite)
    stop = Class.new(StandardError)
    thread = in_thread do
      here = Thread.current
      file.stub(
        :syswrite, ->(bytes) { write.call(bytes).tap { Thread.new { here.raise(stop) }.join } }
      ) { fill(segments, [2]) }
    end
    assert_raises(stop) { thread.join }
    assert_equal [1, 2], read_all(segments).map(&:first)
    assert_equal [1, 2, 3], read_all(fill(segments, [3])).map(&:first)
  end

  test "after close nothing is appended" do
    segments = fill(open_segments, [1])
    2.times { segments.close }
    assert_raises(Godwit::ClosedError) { fill(segments, [2]) }
  end
end
