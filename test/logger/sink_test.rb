# frozen_string_literal: true

require "test_helper"
require "zlib"
require_relative "made_records"

# The file that `serve --file` writes: lines, rotation, old files, a disk that is full.
class LoggerSinkTest < Godwit::TestCase
  include MadeRecords

  Sink = Godwit::Logger::Sink
  Clock = Struct.new(:now)

  def path = @path ||= File.join(scratch_dir, "app.log")

  def sink(**options) = own(Sink.new(path, **options))

  def content(name = path) = File.binread(name).force_encoding("UTF-8")

  def old_names(one) = one.old_files.map { |name| File.basename(name) }

  def self.day(number, hour = 12) = Time.local(2026, 11, number, hour)

  def day(...) = self.class.day(...)

  test "lines equal Record#to_s, whatever the record" do
    random = Random.new(2)
    all = Array.new(300) do |index|
      header = {
        v: 1, writer: WRITER, seq: index + 1, tseq: index + 1,
        t_ns: T_NS + random.rand(3_000_000_000), mono_ns: 1, level: 1, pid: random.rand(99_999)
      }
      header = header.to_a.shuffle(random: random).to_h if index % 5 == 1
      header.delete(:pid) if index % 5 == 2
      header[:tags] = [',"pid":7'] if index % 5 == 3
      level = %w[DEBUG INFO WARN ERROR FATAL ANY].sample(random: random)
      Godwit::Logger::Record.parse(
        ["#{level}.#{"b" if index.odd?}.web1.".b, JSON.generate(header).b, random.bytes(10)]
      )
    end
    sink.write([*all, "no record"])
    assert_equal [*all, "no record\n"].join.b, File.binread(path)
  end

  test "a plain line is written as received, and format: may choose another form" do
    lines = ["old writer\n", "no end"].map { |text| Godwit::Logger::Record.parse(text) }
    sink.write(lines)
    assert_equal "old writer\nno end\n", content
    @path = File.join(scratch_dir, "own.log")
    sink(format: ->(one) { "#{one.seq} #{one.text}" }).write(records(2))
    assert_equal "1 record 1\n2 record 2\n", content
  end

  test "a record that the format cannot do is written all the same" do
    format = ->(one) { (one.seq == 1) ? raise("no") : one.text }
    _, said = capture_io { sink(format: format).write(records(2)) }
    assert_match(/\A.*billing.*record 1.*\nrecord 2\n\z/, content)
    assert_match(/app\.log: no \(RuntimeError\)/, said)
  end

  {
    daily: [day(20), day(20, 23), day(21, 0), "app.log.20261120"],
    weekly: [day(18), day(21, 23), day(22, 0), "app.log.20261121"],
    monthly: [day(18), day(30, 23), Time.local(2026, 12, 1), "app.log.20261130"]
  }.each do |rotate, (first, last, later, name)|
    test "#{rotate}: the file is put away under the name of its last day" do
      clock = Clock.new(first)
      one = sink(rotate: rotate, clock: clock)
      one.write([record("first")])
      clock.now = last
      one.write([record("last")])
      assert_equal [], old_names(one)
      clock.now = later
      one.write([record("later")])
      assert_equal [name], old_names(one)
      assert_match(/\A.*first\n.*last\n\z/, content(one.old_files.first))
      assert_match(/\A.*later\n\z/, content)
    end
  end

  test "a name that is taken gets a number, as with Ruby's Logger" do
    File.write("#{path}.20261120", "")
    clock = Clock.new(day(20))
    one = sink(rotate: :daily, clock: clock)
    one.write(records(1))
    clock.now = day(21)
    one.write(records(1))
    assert_equal ["app.log.20261120.1", "app.log.20261120"], old_names(one)
  end

  test "a file of an earlier day is put away by the process that opens it" do
    File.write(path, "old\n")
    File.utime(day(19), day(19), path)
    one = sink(rotate: :daily, clock: Clock.new(day(21)))
    one.write(records(1))
    # Like Ruby's Logger, the sink names the old file after yesterday, not after its last write.
    assert_equal ["app.log.20261120"], old_names(one)
    assert_equal 1, content.lines.size
  end

  test "keep: old dated files beyond it go, others stay" do
    foreign = %w[app.log.txt app.log.2026 other.log.20200101]
    foreign.each { |name| File.write("#{scratch_dir}/#{name}", "") }
    clock = Clock.new(day(10))
    one = sink(rotate: :daily, keep: 3, clock: clock)
    (10..18).each do |number|
      clock.now = day(number)
      one.write(records(1))
    end
    assert_equal %w[app.log.20261117 app.log.20261116 app.log.20261115], old_names(one)
    assert_empty foreign - Dir.children(scratch_dir)
  end

  test "by size: no file is larger, whatever the batches, and no record is lost or out of order" do
    one = sink(rotate: 1_000)
    all = records(200)
    all.each_slice(70) { |some| one.write(some) }
    files = [*one.old_files.reverse, path]
    assert_equal all.join, files.map { |file| content(file) }.join
    assert_operator files.map { |file| File.size(file) }.max, :<=, 1_000
    assert_operator files.size, :>, 10
    assert_equal ["app.log.0", "app.log.1"], old_names(one).first(2)
    one.write([record("x" * 1_200), record("y" * 1_200)])
    assert_match(/\A.* y+\n\z/, content, "a larger line has its own file")
    assert_match(/\A.* x+\n\z/, content("#{path}.0"))
  end

  test "gzip: old files are compressed, even if they were renamed" do
    one = sink(rotate: 2_000, gzip: true)
    # the first file is large, so its compression takes a while
    all = [record(Random.new(1).bytes(500_000).unpack1("H*")), *records(300)]
    all.each_slice(30) { |some| one.write(some) }
    eventually do
      one.old_files.all? { |name| name.end_with?(".gz") } && Dir["#{path}*.part"].empty?
    end
    one.close
    text = one.old_files.reverse.map { |name| Zlib::GzipReader.open(name, &:read) }.join + content
    assert_equal all.join, text
    assert_operator one.old_files.size, :>, 5
  end

  test "gzip: an earlier process's unfinished files are compressed, and halves are deleted" do
    File.write("#{path}.20261101", "old\n")
    File.write("#{path}.20261102.77.gz.part", "half")
    one = sink(rotate: :daily, gzip: true, keep: 5, clock: Clock.new(day(3)))
    eventually { old_names(one) == ["app.log.20261101.gz"] }
    assert_equal "old\n", Zlib::GzipReader.open(one.old_files.first, &:read)
    refute File.exist?("#{path}.20261102.77.gz.part")
  end

  test "a failed rotation loses no record, and is reported" do
    clock = Clock.new(day(20))
    one = sink(rotate: :daily, clock: clock)
    one.write([record("first")])
    clock.now = day(21)
    Dir.mkdir("#{path}.20261120") # this name is in use: the sink tries .1
    File.stub(:rename, ->(*) { raise Errno::EACCES, "rename" }) do
      _, said = capture_io { one.write([record("second")]) }
      assert_match(/app\.log: .*Errno::EACCES/, said)
    end
    assert_equal 2, content.lines.size
    clock.now += 61
    one.write([record("third")])
    assert_equal 1, content.lines.size
  end

  test "the block is called before the first record of each file, and after each write" do
    size = record("record 1").to_s.bytesize
    one = sink(rotate: 2 * size)
    seen = []
    note = lambda do |count|
      seen << [count, one.file_end.size, one.file_end.inode == File.stat(path).ino]
    end
    one.write(records(5), &note)
    assert_equal [[0, 0], [2, 2 * size], [2, 0], [4, 2 * size], [4, 0], [5, size]],
      seen.map { |count, bytes, _| [count, bytes] }
    assert seen.all?(&:last), "the file in use"
    one.write(records(1), &note)
    assert_equal [1, 2 * size, true], seen.last
  end

  test "a FIFO is written to, and never rotated" do
    File.mkfifo(path)
    reader = in_thread { File.read(path) }
    one = sink(rotate: 10)
    one.write(records(3))
    one.close
    assert_equal 3, reader.value.lines.size
  end

  test "bad options are named" do
    {rotate: :hourly, keep: 0, format: 5}.each do |name, value|
      error = assert_raises(ArgumentError, TypeError) { Sink.new(path, name => value) }
      assert_includes error.message, "#{name}:"
      assert_kind_of Godwit::Error, error
    end
    assert_raises(TypeError) { Sink.new(nil) }
    error = assert_raises(Errno::ENOENT) { Sink.new(File.join(scratch_dir, "no", "app.log")) }
    assert_includes error.message, "no/app.log"
  end

  test "after close it raises" do
    one = sink
    2.times { one.close }
    assert_predicate one, :closed?
    [-> { one.write(records(1)) }, -> { one.reopen }].each do |call|
      assert_raises(Godwit::ClosedError, &call)
    end
  end

  # A child runs this program: the limit of file sizes and its signal apply to a whole process.
  FULL = <<~RUBY
    require "godwit"
    require "./test/logger/made_records"
    include MadeRecords
    trap("XFSZ", "IGNORE")
    Process.setrlimit(:FSIZE, 1000)
    sink = Godwit::Logger::Sink.new(ARGV[0])
    noted = nil
    [30, 1].each do |count|
      sink.write(records(count)) { |written| noted = [written, sink.file_end.size] }
    rescue Errno::EFBIG => error
      puts [error.sent, sink.written, *noted, File.size(ARGV[0]), error.is_a?(Godwit::Error),
        error.message.include?(ARGV[0])].inspect
    end
  RUBY

  test "where there is no room, whole lines are in the file, and counted; a later try adds " \
    "nothing torn" do
    not_on :jruby, "it has no Process.setrlimit"
    printed = assert_child(run_child(FULL, [path])).stdout
    fit = content.lines.size
    assert_equal records(fit).join, content
    size = content.bytesize
    assert_operator size + record("record 1").to_s.bytesize, :>, 1000
    assert_equal [[fit, fit, fit, size, size, true, true], [0, fit, fit, size, size, true, true]],
      printed.lines.map { |line| JSON.parse(line) }
  end

  test "a killed writer leaves whole lines" do
    one = sink
    some = records(200).each { |each| each.to_s }
    20.times do
      thread = in_thread { loop { one.write(some) } }
      eventually { one.written.positive? }
      thread.kill
      thread.join
    end
    assert_equal 0, one.written % 200
    assert_equal one.written, content.lines.size
  end
end
