# frozen_string_literal: true

require_relative "shell_case"
require "support/tls"
require "pathname"
require "stringio"
require "tempfile"
require "zlib"

# Objects that become the stdin or stderr of a command. For some objects Ruby reads or writes in the
# command's place.
class RedirectionTest < ShellCase
  include Godwit::TestSupport::TLS

  # An object that changes the bytes of its descriptor, so Ruby must read and write for the command.
  class Upper
    def initialize(io) = @io = io
    def to_io = @io
    def read(bytes) = @io.read(bytes)&.upcase
    def write(text) = @io.write(text.upcase)
  end

  def file(name = "rows.txt", content = "a\nb\nc\n")
    File.join(scratch_dir, name).tap { |path| File.binwrite(path, content) }
  end

  def written(reader, writer)
    writer.write("a\nb\nc\n")
    writer.close
    reader
  end

  def cat(input, **options) = Shell.rows("cat", input: input, timeout: 30, **options).to_a

  test "a Pathname is a file to open, for each run and each stage" do
    path = Pathname(file)
    stream = Shell.rows("cat", input: path, timeout: 30)
    assert_equal [%w[a b c]] * 2, [stream.to_a, stream.to_a]
    assert_equal ["3"], Shell.pipe(%w[cat], %w[wc -l], input: path, timeout: 30).map(&:strip)
    assert_equal "a\nb\nc\n", Shell.capture("cat", input: path, timeout: 30).first
    assert_includes cat(path, pty: true), "c" unless RUBY_ENGINE == "jruby"
    errors = Pathname(file("errors.txt", "old\n"))
    sh("echo one >&2", err: errors).to_a
    Shell.pipe("echo 1 >&2", "cat; echo 2 >&2", shell: true, err: errors).to_a
    assert_equal %w[1 2], errors.readlines.map(&:chomp).sort
    assert_empty descriptors.grep(/#{Regexp.escape(scratch_dir)}/) # this test's files
  end

  test "a file that cannot be opened is named, and nothing starts" do
    before = children
    missing = Pathname(scratch_dir) / "no" / "file"
    %i[input err].each do |option|
      {missing => Errno::ENOENT, Pathname(scratch_dir) => Errno::EISDIR}.each do |path, error|
        raised = assert_error(error, /\Arows #{path}: .*\(#{option}: takes a file/) do
          Shell.rows("cat", option => path).to_a
        end
        assert_kind_of Godwit::Error, raised
      end
    end
    assert_empty children - before
  end

  test "a FIFO without a writer does not outlast timeout:" do
    fifo = File.join(scratch_dir, "fifo").tap { |path| File.mkfifo(path) }
    stream = Shell.rows("cat", input: Pathname(fifo), timeout: 0.05)
    assert_empty stream.to_a
    assert_equal :timeout, stream.status.timed_out
  end

  test "objects above an IO are read and written by their own methods" do
    assert_equal %w[A B C], cat(Upper.new(File.open(file)))
    Zlib::GzipWriter.open(zipped = file("rows.gz")) { |gz| gz.write("x\ny\n") }
    Zlib::GzipReader.open(zipped) { |gz| assert_equal %w[x y], cat(gz) }
    Zlib::GzipWriter.open(zipped) do |gz|
      assert_equal ["out"], sh("echo out; printf 'e\\0\\nf' >&2", err: gz).to_a
    end
    assert_equal "e\0\nf", Zlib.gunzip(File.binread(zipped))
    File.open(path = file("upper.txt"), "w") do |io|
      sh("echo err >&2", err: Upper.new(io)).to_a
    end
    assert_equal "ERR\n", File.read(path)
  end

  test "ARGF gives all its files" do
    assert_prints %(["b", "c", "d"]\n), <<~RUBY
      require "godwit"
      ARGV.replace([#{file.dump}, #{file("more.txt", "d\n").dump}])
      ARGF.gets
      p Godwit::Shell.rows("cat", input: ARGF).to_a
    RUBY
  end

  test "of a TLS connection the plain text arrives, and before its end" do
    client, server = tls_pair
    server.write("one\n")
    stream = Shell.rows("cat", input: client, timeout: 30)
    assert_equal "one", stream.next
    stream.close
    sh("echo err >&2", err: client).to_a
    assert_equal "err\n", server.gets
  end

  test "read(bytes) is called until nil, once; a read without bytes is not" do
    pieces = ["a\n", "b\n", nil]
    reader = Object.new
    reader.define_singleton_method(:read) do |bytes|
      raise "read(#{bytes}) after nil" if pieces.empty?
      pieces.shift
    end
    assert_equal %w[a b], cat(reader)
    table = Object.new
    def table.read = raise("all of it")
    def table.each = yield("row\n")
    assert_equal ["row"], cat(table)
  end

  test "other objects and closed IOs are refused, and nothing starts" do
    before = children
    reader, writer = pipe.each(&:close)
    [[:input, Godwit::ArgumentTypeError, [Dir.new("/"), 5, Object.new],
      /input: takes a String, an IO, a Pathname/],
      [:input, Godwit::ArgumentValueError, [reader], /input: takes an IO that is open/],
      [:err, Godwit::ArgumentValueError, [writer], /err: takes an IO that is open/],
      [:err, Godwit::ArgumentValueError, [Dir.new("/"), 5, "errors.txt"],
        /err: takes :inherit, .* a Pathname, or what has write/],
      [:chdir, Godwit::ArgumentTypeError, [5, :tmp, Object.new], /chdir: takes a path/]]
      .each do |option, klass, all, says|
      all.each { |wrong| assert_error(klass, says) { Shell.rows("cat", option => wrong).to_a } }
    end
    assert_empty children - before
  end

  {
    "a file" => -> { File.open(file) },
    "a file that is decoded" => -> { File.open(file, "r:ISO-8859-1:UTF-8") },
    "a Tempfile" => -> { Tempfile.new.tap { |io| io.write("a\nb\nc\n") && io.rewind } },
    "a pipe" => -> { written(*IO.pipe) },
    "a socket" => -> { written(*UNIXSocket.pair) }
  }.each do |name, opened|
    test "after a line of #{name} was read, the command gets the rest" do
      io = instance_exec(&opened)
      assert_equal "a\n", io.gets
      assert_equal %w[b c], cat(io)
      assert_nil io.gets
    ensure
      io&.close
    end
  end

  test "after a decoded character was read, the command gets the bytes of the rest" do
    io, writer = pipe
    writer.binmode.write("\xFC\xFD\n\xFE\n".b)
    writer.close
    io.set_encoding("ISO-8859-1:UTF-8")
    file = File.open(file("latin.txt", "\xFC\xFD\n\xFE\n"), "r:ISO-8859-1:UTF-8")
    [io, file].each do |one|
      assert_equal "ü", one.getc
      assert_equal ["\xFD", "\xFE"].map(&:b), cat(one, encoding: "BINARY")
    end
  ensure
    file&.close
  end

  test "a pipe that Ruby has read ahead gives what comes, and before its end" do
    io, writer = pipe
    writer.write("a\nb\n")
    io.gets
    stream = Shell.rows("cat", input: io, timeout: 30)
    assert_equal "b", stream.next
    writer.write("c\n")
    assert_equal "c", stream.next
    stream.close
  end

  test "chdir: takes what Process.spawn takes" do
    real_path = File.realpath(scratch_dir)
    Dir.open(real_path) do |dir|
      [real_path, Pathname(real_path), dir].each do |folder|
        assert_equal [real_path], Shell.rows("pwd", chdir: folder).to_a
      end
    end
  end

  test "what was written to an IO comes before what the command writes" do
    [File.open(file, "w"), File.open(file("log.txt", "old\n"), "a"), Tempfile.new].each do |io|
      io.write("first\n")
      sh("echo second >&2", err: io).to_a
      io.write("third\n")
      io.flush
      assert_equal %w[first second third], File.readlines(io.path, chomp: true).last(3)
    ensure
      io.close
    end
  end
end
