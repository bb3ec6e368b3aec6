# frozen_string_literal: true

require "test_helper"
require_relative "constants"
require_relative "made_records"

# A receiver after a crash: which records of its file it keeps, and which records it must cut off.
class LoggerJournalTest < Godwit::TestCase
  include Godwit::TestSupport::Constants
  include MadeRecords

  Sink = Godwit::Logger::Sink
  Godwit::Logger::Receiver.name # loads the file of Receiver, which loads Journal
  Journal = Godwit::Logger.const_get(:Journal)
  A = "a" * 16
  B = "b" * 16

  def file = File.join(scratch_dir, "app.log")

  def open_journal(compact: 1 << 20, **sink)
    @journal = own(Journal.new(Sink.new(file, **sink), compact: compact))
  end

  def close_journal = @journal.close

  def durable(writer, *seqs)
    id = writer.unpack1("H*")
    seqs.map do |seq|
      Journal::Entry.new(writer, seq, record("#{writer[0]}#{seq}", seq: seq, writer: id))
    end
  end

  # The texts of the rotated file and of the current file.
  def texts
    files = ["#{file}.0", file].select { |name| File.exist?(name) }
    lines = files.flat_map { |name| File.readlines(name, chomp: true) }
    lines.map { |line| line[/: (.*)/, 1] || line }
  end

  test "after a restart it knows each writer's last record, and cuts unknown ones" do
    journal = open_journal
    journal.write_durable(durable(A, 1, 2, 3) + durable(B, 7))
    journal.write([record("plain")])
    journal.handshake("c" * 16, 9)
    journal.write_durable(durable(A, 4))
    close_journal
    File.write(file, "written, and not noted\n", mode: "a")
    journal = open_journal
    assert_equal [4, 7, nil], [A, B, "d" * 16].map { |writer| journal.last(writer) }
    assert_equal %w[a1 a2 a3 b7 plain a4], texts
    assert_equal 23, journal.cut
    journal.write_durable(durable(A, 5))
    assert_equal "a5", texts.last
  end

  test "wherever the journal is torn, file and numbers agree" do
    journal = open_journal
    (1..5).each { |seq| journal.write_durable(durable(A, seq)) }
    close_journal
    bytes = File.binread("#{file}.journal")
    text = File.binread(file)
    seen = []
    [*(0..bytes.bytesize).step(3), bytes.bytesize].each do |size|
      File.binwrite(file, text)
      File.binwrite("#{file}.journal", bytes.byteslice(0, size))
      journal = open_journal
      last = journal.last(A) || 0
      seen << last
      # A journal without a whole entry knows no record (last is 0), and cuts nothing off app.log.
      assert_equal (1..last).map { |seq| "a#{seq}" }, texts, "torn at #{size}" if last.positive?
      close_journal
    end
    assert_equal [0, 1, 2, 3, 4, 5], seen.uniq
  end

  test "a file that was put away after the last entry is cut where it is now" do
    journal = open_journal
    journal.write_durable(durable(A, 1, 2))
    close_journal
    File.write(file, "written, and not noted\n", mode: "a")
    File.rename(file, "#{file}.0")
    journal = open_journal
    assert_equal %w[a1 a2], texts
    assert_equal 2, journal.last(A)
  end

  test "files beside the journal that are no journals are ignored, also one that was just " \
    "deleted" do
    open_journal.write_durable(durable(A, 1))
    close_journal
    # Symbolic links to a missing file. The journal checks some of them before it checks app.log.
    10.times { |number| File.symlink("#{scratch_dir}/gone", "#{file}.#{number}link") }
    File.write(file, "more", mode: "a")
    assert_equal 1, open_journal(rotate: 300, gzip: true).last(A)
    assert_equal %w[a1], texts
  end

  test "another file that has the inode is left alone" do
    journal = open_journal
    journal.write_durable(durable(A, 1, 2))
    close_journal
    mine = "x" * (File.size(file) + 100)
    File.write(file, mine, mode: "r+")
    journal = open_journal
    assert_equal mine, File.read(file)
    assert_equal 0, journal.cut
  end

  test "it is written anew when it is long, and knows the same" do
    journal = open_journal(compact: 500)
    (1..50).each { |seq| journal.write_durable(durable(A, seq) + durable(B, seq)) }
    assert_operator File.size("#{file}.journal"), :<, 700
    close_journal
    journal = open_journal
    assert_equal [50, 50], [journal.last(A), journal.last(B)]
    assert_equal 100, texts.size
  end

  test "where the journal cannot be written, the file stays as it was, and nothing is " \
    "acknowledged" do
    journal = open_journal
    journal.write_durable(durable(A, 1))
    handle = journal.instance_variable_get(:@file)
    handle.stub(:syswrite, ->(_) { raise Errno::ENOSPC }) do
      error = assert_raises(Errno::ENOSPC) { journal.write_durable(durable(A, 2, 3)) }
      assert_kind_of Godwit::Error, error
      assert_includes error.message, "app.log.journal"
    end
    assert_equal %w[a1], texts
    assert_equal 1, journal.last(A)
    journal.write_durable(durable(A, 2))
    close_journal
    assert_equal 2, open_journal.last(A)
    assert_equal %w[a1 a2], texts
  end

  test "half an entry that cannot be taken back does not hide later entries" do
    journal = open_journal
    journal.write_durable(durable(A, 1))
    handle = journal.instance_variable_get(:@file)
    torn = lambda do |bytes|
      handle.write(bytes.byteslice(0, 10))
      handle.flush
      raise Errno::EIO
    end
    handle.stub(:truncate, ->(_) { raise Errno::EIO }) do
      handle.stub(:syswrite, torn) do
        assert_raises(Errno::EIO) { journal.write_durable(durable(A, 2)) }
      end
    end
    journal.write_durable(durable(A, 2))
    close_journal
    assert_equal 2, open_journal.last(A)
    assert_equal %w[a1 a2], texts
  end

  test "beyond a limit the writers that were silent for longest are forgotten" do
    journal = open_journal
    with_constants(Journal, WRITERS: 3) do
      %w[a b c a d].each_with_index { |writer, seq| journal.handshake(writer, seq) }
    end
    assert_equal [nil, 2, 3, 4], %w[b c a d].map { |writer| journal.last(writer) }
  end
end
