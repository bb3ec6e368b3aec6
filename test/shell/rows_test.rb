# frozen_string_literal: true

require_relative "shell_case"

# How bytes are split into rows: the same on every backend.
class RowsTest < ShellCase
  under_gc_stress

  # Returns the rows of these bytes, which a command writes.
  def rows_of(text, **options)
    Shell.rows("cat", input: text, **options).to_a
  end

  # Returns the rows of these pieces. Each piece is read before the next one is written.
  def rows_of_reads(*pieces, **options)
    reader, writer = IO.pipe
    source = Shell::Source.new(reader, Shell::Plan.new(:rows, [["cat"]], options))
    rows = []
    pieces.each do |piece|
      writer.write(piece)
      nil until source.read(-1) { |row| rows << row } == :wait
    end
    writer.close
    nil until source.read(-1) { |row| rows << row } == :ended
    rows
  ensure
    writer.close
    source.close
  end

  test "chunks are the result of a read, and never cut a character of UTF-8" do
    assert_equal %w[a € 𝄞b],
      rows_of_reads(
        "a\xE2".b, "\x82".b, "\xAC\xF0\x9D".b, "\x84".b, "\x9Eb".b, sep: :chunk, encoding: "UTF-8"
      )
    assert_equal ["a\xE2".b, "\x82".b],
      rows_of_reads("a\xE2".b, "\x82".b, sep: :chunk, encoding: "BINARY")
    assert_equal "x" * 300_000, rows_of("x" * 300_000, sep: :chunk).join
    assert_equal "\xE2\x82".b, rows_of("\xE2\x82", sep: :chunk, encoding: "UTF-8").join.b
  end

  test "a row of exactly the limit is accepted, a row one byte longer is too long" do
    assert_equal ["x" * 100, "y"], rows_of("x" * 100 + "\ny\n", limit: 100)
    assert_equal ["x" * 100], rows_of("x" * 100, limit: 100)
    assert_equal ["x" * 100, "y"], rows_of("x" * 100 + "--y", limit: 100, sep: "--")
    ["x" * 101 + "\ny\n", "x" * 101, "y\n" + "x" * 101].each do |text|
      error = assert_raises(Godwit::RowTooLongError) { rows_of(text, limit: 100) }
      assert_kind_of Godwit::Error, error
      assert_equal "rows cat: a row has more than 100 bytes (raise limit:, or take long: :split " \
        "or :cut)", error.message
    end
  end

  test "a command that never ends its row is stopped at the limit" do
    stream = Shell.rows("cat", "/dev/zero")
    assert_raises(Godwit::RowTooLongError) { stream.first }
    assert stream.status.stopped?
    assert_operator stream.status.bytes, :<, 4 << 20
  end

  test "longer rows are split or cut, and never within a character of UTF-8" do
    assert_equal %w[€ € €], rows_of("€€€\n", limit: 5, long: :split, encoding: "UTF-8")
    rows = rows_of("z" * 1_000_000 + "\n", limit: 1000, long: :split)
    assert_equal [1000] * 1000, rows.map(&:bytesize)
    assert_equal %w[€ b], rows_of("€€€\nb", limit: 5, long: :cut, encoding: "UTF-8")
    assert_equal ["z" * 10, "b"], rows_of("z" * 1_000_000 + "\nb", limit: 10, long: :cut)
  end

  test "CR before the end of a row does not count for the limit" do
    assert_equal %w[abcd e], rows_of("abcd\r\ne\r\n", limit: 4)
    assert_equal %w[abcd e], rows_of_reads("abcd\r", "\ne", limit: 4)
    ["abcd\r", "abcd\rx\n", "abcd\r\r\n", "abcde\r\n"].each do |text|
      assert_raises(Godwit::RowTooLongError) { rows_of(text, limit: 4) }
    end
    assert_raises(Godwit::RowTooLongError) { rows_of("abcd\r\n", limit: 4, chomp: false) }
  end

  test "rows have the encoding asked for, and are not converted" do
    assert_equal Encoding.default_external, rows_of("a").first.encoding
    row = rows_of("gr\xFCn\n".b, encoding: Encoding::ISO_8859_1).first
    assert_equal [Encoding::ISO_8859_1, "gr\xFCn".b], [row.encoding, row.b]
    assert_equal Encoding::BINARY, rows_of("a", encoding: "BINARY").first.encoding
    refute rows_of("gr\xFCn\n".b, encoding: "UTF-8").first.valid_encoding?
  end

  test "one String for all rows, whose copies stay unchanged" do
    copies = []
    rows = []
    # The rows are so long that a copy of a String shares its bytes.
    Shell.rows("seq", "-f", "%050.0f", "1", "2000", reuse: true) do |row|
      copies << row.dup
      rows << row
    end
    assert_equal (1..2000).map { |number| format("%050d", number) }, copies
    assert rows.all? { |row| row.equal?(rows.first) }
  end

  test "one String for all rows survives changes by the block" do
    copies = []
    Shell.rows("printf", "a%.0s\n" * 4 + "bcd\n" + "e" * 100_000 + "\nf\n", "1", reuse: true,
      encoding: "UTF-8") do |row|
      copies << row.dup
      assert_equal Encoding::UTF_8, row.encoding
      row.force_encoding("BINARY") << "more"
      row.freeze if copies.size == 3
      row.replace("") if copies.size == 2
    end
    assert_equal ["a", "a", "a", "a", "bcd", "e" * 100_000, "f"], copies
  end

  test "rows of next are separate Strings, with reuse: too" do
    stream = Shell.rows("seq", "3", reuse: true)
    assert_equal %w[1 2 3], [stream.next, stream.next, stream.next]
  end

  test "rows equal each_line's, however the bytes arrive" do
    random = Random.new(1)
    rounds(400, stressed: 2).times do
      sep = ["\n", "\0", "ab", "aab", "\r\n"].sample(random: random)
      words = ["a", "b", "\n", "\r", "\0", "é", "ab"]
      text = Array.new(random.rand(300)) { words.sample(random: random) }.join.b
      pieces = text.scan(/.{1,#{1 + random.rand(40)}}/mn)
      options = {sep: sep, encoding: "BINARY"}
      what = [text, sep, pieces.first].inspect
      whole = text.each_line(sep.b).to_a
      assert_equal whole, rows_of_reads(*pieces, chomp: false, **options), what
      chomped = whole.map { |row|
        (sep == "\n" && row.end_with?("\n")) ? row.chomp : row.delete_suffix(sep)
      }
      assert_equal chomped, rows_of_reads(*pieces, **options), what
      limit = 1 + random.rand(20)
      split = rows_of_reads(*pieces, limit: limit, long: :split, chomp: false, **options)
      assert_equal text, split.join, what
      assert(split.all? { |row| row.bytesize <= limit + sep.bytesize }, what)
      split = rows_of_reads(*pieces, limit: limit, long: :split, **options)
      pieces_of_rows = chomped.flat_map { |row| row.empty? ? [row] : row.scan(/.{1,#{limit}}/mn) }
      assert_equal pieces_of_rows, split, what
      cut = rows_of_reads(*pieces, limit: limit, long: :cut, **options)
      assert_equal chomped.map { |row| row.byteslice(0, limit) }, cut, what
    end
  end
end
