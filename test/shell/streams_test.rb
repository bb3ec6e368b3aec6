# frozen_string_literal: true

require_relative "shell_case"
require "stringio"

# Standard error, input, pipelines, environment and terminals of commands.
class StreamsTest < ShellCase
  BOTH = "echo out; echo err >&2"
  # Writes a megabyte to stderr, one to stdout, and one to stderr again: a reader that drains only
  # one of the two streams hangs.
  LOUD =
    "head -c 1000000 /dev/zero | tr '\\0' 'e' >&2; head -c 1000000 /dev/zero | tr '\\0' 'o'; " \
    "head -c 1000000 /dev/zero | tr '\\0' 'e' >&2"

  test "stderr is the process's own by default" do
    result = assert_child run_child(<<~'RUBY')
      require "godwit"
      Godwit::Shell.rows("echo out; echo err >&2", shell: true) { |row| puts "row #{row}" }
    RUBY
    assert_equal ["row out\n", "err\n"], [result.stdout, result.stderr]
  end

  test "stderr merged, discarded, by rows" do
    assert_equal %w[out err], sh(BOTH, err: :merge).to_a
    assert_equal %w[out], sh(BOTH, err: :discard).to_a
    stream = sh(BOTH, err: :rows)
    kinds = []
    stream.each { |kind, row| kinds << [kind, row] }
    [stream.to_a, kinds, [stream.next, stream.next]].each do |rows|
      assert_equal [[:err, "err"], [:out, "out"]], rows.sort
    end
  end

  test "stderr to a Proc, an IO, and an object with write" do
    rows = []
    assert_equal %w[out], sh(BOTH, err: ->(row) { rows << row }).to_a
    assert_equal %w[err], rows
    reader, writer = pipe
    assert_equal %w[out], sh(BOTH, err: writer).to_a
    assert_equal "err\n", reader.readpartial(100)
    assert_equal %w[out], sh(BOTH, err: text = StringIO.new).to_a
    assert_equal "err\n", text.string
  end

  test "the end of stderr is in the status" do
    stream = sh("#{BOTH}; exit 3", err: :tail)
    assert_equal %w[out], stream.to_a
    assert_equal ["err\n", 3], [stream.status.stderr_tail, stream.status.exitstatus]
    assert_nil sh(BOTH, err: :discard).tap(&:to_a).status.stderr_tail
    script = "seq 1 100000 >&2; printf 'gr\\303\\274n' >&2"
    tail = sh(script, err: :tail, encoding: "UTF-8").tap(&:to_a).status.stderr_tail
    assert_includes 65_001..65_536, tail.bytesize
    assert tail.end_with?("99999\n100000\ngrün"), tail[-40..]
    assert tail.valid_encoding?
  end

  {tail: 0, discard: 0, merge: 2_000_000, rows: 2_000_000}.each do |err, more|
    test "a megabyte to each stream, stderr #{err}, is no deadlock" do
      sizes = Hash.new(0)
      status = sh(LOUD, err: err, limit: 1 << 22) { |*kind, row| sizes[kind] += row.bytesize }
      assert status.success?
      assert_equal 1_000_000 + more, sizes.values.sum
    end
  end

  test "without input a command reads the end, and leaves the process's input alone" do
    assert_prints "[]\n[\"mine\"]\n", <<~RUBY, stdin: "mine\n"
      require "godwit"
      p Godwit::Shell.rows("cat").to_a, Godwit::Shell.rows("cat", input: $stdin).to_a
    RUBY
  end

  test "an error of the input itself ends the command and is raised, also with a terminal" do
    [Errno::EPIPE, Errno::EIO, IOError, KeyError, NotImplementedError].each do |error|
      reads = Object.new
      reads.define_singleton_method(:read) { |_| raise error, "the input's own" }
      each = Enumerator.new { |pieces| (pieces << "a\n") && raise(error, "the input's own") }
      inputs = [[reads, {}], [each, {}]]
      inputs << [each, {pty: true}] unless RUBY_ENGINE == "jruby"
      inputs.each do |input, options|
        stream = sh("cat; exec sleep 1000", input: input, **options)
        assert_error(error, /the input's own\z/) { stream.to_a }
        assert_predicate stream.status, :stopped?, error
      end
    end
  end

  test "input from a String, an Enumerator, an object with read, and an IO" do
    assert_equal %w[a b], Shell.rows("cat", input: "a\nb").to_a
    assert_equal %w[a b 3], Shell.rows("cat", input: ["a\n", "b\n", 3].each).to_a
    assert_equal %w[a b], Shell.rows("cat", input: StringIO.new("a\nb")).to_a
    reader, writer = pipe
    writer.write("c\nd")
    writer.close
    assert_equal %w[c d], Shell.rows("cat", input: reader).to_a
    assert_equal "grün".b, Shell.rows("cat", input: "grün", encoding: "BINARY").first
  end

  test "input from another Stream: rows with their separators" do
    {["a", "b"] => Shell.rows("printf", "a\\nb\\n"),
     ["a\0b\0"] => Shell.rows("printf", "a\\0b\\0", sep: "\0"),
     ["a", "bc"] => Shell.rows("printf", "a\\nbc", sep: :chunk),
     ["a", "ü"] => sh("echo a; echo ü", chomp: false, err: :rows)}.each do |rows, input|
      assert_equal rows, Shell.rows("cat", input: input, encoding: "UTF-8").to_a
    end
  end

  test "capture gives stdout, stderr and the status" do
    out, err, status = Shell.capture("sh", "-c", "echo out; echo err >&2; printf two; exit 3")
    assert_equal ["out\ntwo", "err\n", 3], [out, err, status.exitstatus]
    out, err, status = Shell.capture("grün", shell: true, ok: 127)
    if Encoding.default_external == Encoding::UTF_8
      assert_equal ["", Encoding::UTF_8, true], [out, out.encoding, status.success?]
    end
    refute_empty err
    assert_equal ["x" * 300_000, ""], Shell.capture("cat", input: "x" * 300_000).first(2)
    assert_error(Godwit::ArgumentValueError, /leave out err:, sep:/) do
      Shell.capture("ls", err: :tail, sep: "\0")
    end
  end

  test "ok: says which exit statuses are no failure" do
    assert_predicate Shell.run("sh", "-c", "exit 1", ok: [0, 1]) { nil }, :success?
    refute_predicate Shell.rows("sh", "-c", "exit 2", ok: [0, 1]) { nil }, :success?
    assert_raises(Godwit::CommandError) { Shell.run("true", ok: 1) { nil } }
    status = Shell.pipe(["sh", "-c", "exit 1"], %w[cat], ok: [0, 1]) { nil }
    assert_equal [true, 1], [status.success?, status.stages.first.exitstatus]
    [[], [256], ["0"], nil].each do |wrong|
      assert_error(Godwit::ArgumentValueError, /ok: takes exit statuses/) do
        Shell.rows("ls", ok: wrong)
      end
    end
  end

  test "an Array is a command, and a Hash before it its environment" do
    env = {"A" => "1"}
    assert_equal ["a b"], Shell.rows(["echo", "a b"]).to_a
    assert_equal ["1 2"], Shell.rows(env, "sh", "-c", "echo $A $B", env: {"B" => "2"}).to_a
    assert_equal ["1"], Shell.rows(env, ["sh", "-c", "echo $A"]).to_a
    assert_equal ["1"], Shell.rows(env, "echo $A", shell: true).to_a
    assert_equal ["1"], Shell.pipe(env, ["sh", "-c", "echo $A"], %w[cat]).to_a
    assert_equal ["mine"], Shell.rows(env, "sh", "-c", "echo $A", env: {"A" => "mine"}).to_a
    assert_raises(Godwit::ArgumentValueError) { Shell.rows(env) }
  end

  test "umask: is the command's" do
    not_on :jruby, "its spawn has none"
    before = File.umask
    assert_equal ["0077"], Shell.rows("umask", shell: true, umask: 0o077).to_a
    assert_equal before, File.umask
    assert_error(Godwit::ArgumentValueError, /umask: takes a number from 0 to 0777/) do
      Shell.rows("ls", umask: 0o1000)
    end
  end

  test "unread input of a command is no error" do
    stream = Shell.rows("head", "-n1", input: "x\n" * 1_000_000)
    assert_equal ["x"], stream.to_a
    assert stream.status.success?
    assert_equal ["x"],
      Shell.rows("head", "-n1", input: Enumerator.new { |y| loop { y << "x\n" } }).to_a
  end

  test "input that never comes delays nothing" do
    queue = Queue.new
    input = Enumerator.new { |pieces| pieces << queue.pop }
    assert_equal "a", sh("echo a; cat", input: input).first
  end

  test "a pipeline without a shell" do
    assert_equal ["3"], Shell.pipe(%w[seq 5], %w[grep [135]], %w[wc -l]).map(&:strip)
    assert_equal %w[2 1], Shell.pipe(%w[cat], %w[sort -r], input: "1\n2\n").to_a
    assert_equal %w[1], Shell.pipe(%w[seq 1]).to_a
    assert_equal %w[2], Shell.pipe("seq 3", "grep '[2]' | cat", shell: true).to_a
    rows = []
    assert(Shell.pipe(%w[seq 2], %w[cat]) { |row| rows << row }.success?)
    assert_equal %w[1 2], rows
  end

  test "each stage has its status, and the last that failed is the pipeline's" do
    status = Shell.pipe("exit 3", "cat; exit 4", "cat", shell: true).tap(&:to_a).status
    assert_equal [[3, 4, 0], 4, true, false, "exit 3 | cat; exit 4 | cat"],
      [status.stages.map(&:exitstatus), status.exitstatus, status.failed?, status.success?,
        status.command]
  end

  test "a stage that ends by SIGPIPE did not fail" do
    stream = Shell.pipe(%w[yes], %w[head -n 2])
    assert_equal %w[y y], stream.to_a
    assert_equal [:PIPE, nil], stream.status.stages.map(&:signal)
    assert stream.status.success?
    refute Shell.pipe(%w[yes], ["sh", "-c", "kill -PIPE $$"]).tap(&:to_a).status.success?
  end

  test "environment" do
    assert_equal ["1-"], sh('echo "$A-$HOME"', env: {"A" => 1, :HOME => nil}).to_a
    assert_equal ["A=1"], Shell.rows("/usr/bin/env", env: {"A" => "1"}, unsetenv_others: true).to_a
  end

  test "arguments reach the program as they are" do
    words = ["a b", "$HOME", "'\"", "*", "", "ü", "-n"]
    assert_equal words, Shell.rows("printf", "%s\\0", *words, sep: "\0", encoding: "UTF-8").to_a
    assert_equal ["5 sym"], Shell.rows("echo", 5, :sym).to_a
  end

  test "a terminal: rows at once, no CR, one output" do
    not_on :jruby, "JRuby gives a child no terminal"
    assert_match(%r{\A/dev/}, Shell.rows("tty", pty: true).first)
    assert_equal %w[out err], sh(BOTH, pty: true).to_a
    stream = sh("echo a; exit 3", pty: true)
    assert_equal ["a"], stream.to_a
    assert_equal 3, stream.status.exitstatus
    assert_includes Shell.rows("cat", pty: true, input: "hello\n").to_a, "hello"
    assert_nothing_left { sh(STAYS, pty: true).first }
    assert_raises(Errno::ENOENT) { Shell.rows("/no/such/program", pty: true).first }
  end

  test "without a terminal on JRuby, one line reports it" do
    skip "of JRuby" unless RUBY_ENGINE == "jruby"
    assert_error(Godwit::UnsupportedError, /JRuby gives a child no terminal/) do
      Shell.rows("tty", pty: true).first
    end
  end

  test "on a JRuby that cannot give pipes to children, one line reports it" do
    skip "of JRuby" unless RUBY_ENGINE == "jruby"
    command = Godwit::TestSupport::Children::RUBY.reject do |word|
      word == "--add-opens" || word.end_with?("=ALL-UNNAMED")
    end
    child = start_command([*command, "-Ilib", "-e", <<~RUBY])
      require "godwit"
      begin
        Godwit::Shell.rows("echo", "a").first
      rescue Godwit::UnsupportedError
        puts $!.message
      end
    RUBY
    assert_match(/this Java gives JRuby no pipes to children: start it with --add-opens java.base/,
      child.finish.stdout)
  end

  test "stderr of all stages" do
    script = ["echo 1 >&2; echo out", "cat; echo 2 >&2"]
    stream = Shell.pipe(*script, shell: true, err: :tail)
    assert_equal %w[out], stream.to_a
    assert_equal %w[1 2], stream.status.stderr_tail.split.sort
    assert_equal %w[1 2 out], Shell.pipe(*script, shell: true, err: :merge).sort
    assert_equal [[:err, "1"], [:err, "2"], [:out, "out"]],
      Shell.pipe(*script, shell: true, err: :rows).sort
  end
end
