# frozen_string_literal: true

require_relative "shell_case"

# A Stream is an Enumerator; and arguments that Shell does not take.
class ShellStreamTest < ShellCase
  test "it is an Enumerator, lazy and not" do
    stream = Shell.rows("seq", "5")
    assert_kind_of Enumerator, stream
    assert_equal %w[1 2 3 4 5], stream.to_a
    assert_equal [["1", 0], ["2", 1]], stream.each_with_index.first(2)
    assert_equal [["1", 1], ["2", 2]], stream.with_index(1).first(2)
    assert_equal %w[2 4], stream.lazy.select { |row| row.to_i.even? }.first(2)
    assert_equal [%w[1 2], %w[3 4], %w[5]], stream.each_slice(2).to_a
    assert_equal [%w[1 2 3 4], %w[2 3 4 5]], stream.each_cons(4).to_a
    assert_equal ["1"], stream.each_entry.first(1)
    assert_equal [%w[1 a], %w[2 b]], stream.zip(%w[a b]).first(2)
    assert_equal %w[1 2 3 4 5 1], (stream + ["1"]).to_a
    assert_same stream, stream.each
    assert_nil stream.size
  end

  test "nothing runs before the first row is asked for, and each run starts the command anew" do
    path = File.join(scratch_dir, "runs")
    stream = sh("echo run >> #{path}; echo a")
    refute File.exist?(path)
    refute stream.running?
    assert_nil stream.status
    2.times { assert_equal ["a"], stream.to_a }
    assert_equal 2, File.readlines(path).size
  end

  test "next, peek, rewind, and the end" do
    stream = Shell.rows("seq", "3")
    assert_equal %w[1 1 2], [stream.peek, stream.next, stream.next]
    assert stream.running?
    assert_equal "#<Godwit::Shell::Stream seq 3 (runs)>", stream.inspect
    stream.rewind
    assert stream.status.stopped?
    assert_equal [["1"], ["1"], "2", "3"],
      [stream.peek_values, stream.next_values, stream.next, stream.next]
    2.times do
      error = assert_raises(StopIteration) { stream.next }
      assert_same stream.status, error.result
    end
    assert_raises(StopIteration) { stream.peek }
    assert_equal [true, 3], [stream.status.success?, stream.status.rows]
    refute stream.running?
    assert_equal "1", stream.rewind.next
    stream.close
  end

  test "rows that next did not hand out are not counted" do
    %i[rewind close].each do |ending|
      stream = Shell.rows("seq", "100")
      2.times { stream.next }
      stream.public_send(ending)
      assert_equal 2, stream.status.rows, ending
    end
  end

  test "after close its rows are at an end, and it may be used again" do
    stream = Shell.rows("seq", "3")
    assert_nil stream.close
    stream.next
    assert stream.close.stopped?
    2.times { assert_raises(StopIteration) { stream.next } }
    assert_equal %w[1 2 3], stream.to_a
    assert_equal "1", stream.rewind.next
    assert stream.close.stopped?
  end

  test "each within each runs twice" do
    stream = Shell.rows("seq", "2")
    pairs = []
    stream.each { |row| stream.each { |other| pairs << [row, other] } }
    assert_equal [%w[1 1], %w[1 2], %w[2 1], %w[2 2]], pairs
  end

  test "a copy makes no sense" do
    stream = Shell.rows("seq", "3")
    %i[dup clone].each do |copy|
      assert_raises(Godwit::UnsupportedError) { stream.public_send(copy) }
    end
  end

  test "reuse: makes no object for a row" do
    not_on :ffi, "each read makes Strings"
    skip "the checks of types make objects" if ENV["GODWIT_TEST_TYPES"]
    count = 20_000
    allocated = lambda do |rows|
      before = GC.stat(:total_allocated_objects)
      Shell.rows("seq", rows.to_s, reuse: true) { nil }
      GC.stat(:total_allocated_objects) - before
    end
    allocated.call(count)
    assert_operator allocated.call(count) - allocated.call(10), :<, count / 20
  end

  test "a signal reaches the group" do
    stream = sh("trap 'echo got' USR1; echo ready; while :; do sleep 0.01; done", err: :discard)
    assert_equal "ready", stream.next
    assert_same stream, stream.signal(:USR1)
    assert_equal "got", stream.next
    Shell.signal("SIGUSR1")
    assert_equal "got", stream.next
    stream.close
    stream.signal(:USR1)
    assert_raises(Godwit::ArgumentValueError) { stream.signal(:NONE) }
    assert_raises(Godwit::ArgumentValueError) { Shell.signal(999) }
  end

  test "a program that is not there is named before any row" do
    error = assert_raises(Errno::ENOENT) { Shell.rows("/no/such/program", "x") { flunk } }
    assert_kind_of Godwit::Error, error
    assert_match(
      %r{\Arows /no/such/program: No such file or directory \(no such program}, error.message
    )
    assert_match(/shell: true/, assert_raises(Errno::ENOENT) { Shell.rows("ls -l").first }.message)
    assert_raises(Errno::ENOENT) { Shell.rows("/no/such/program").next }
    error = assert_raises(Errno::EACCES) { Shell.run("/etc/passwd") }
    assert_match(%r{\Arun /etc/passwd: .*\(it is not executable\)\z}, error.message)
  end

  test "a folder that is not there is named" do
    error = assert_raises(Errno::ENOENT) { Shell.rows("ls", chdir: "/no/such/folder") { flunk } }
    assert_match(%r{\Arows /no/such/folder: .*chdir: takes a folder}, error.message)
  end

  BAD = {
    "no command" => [[], {}], "an empty program" => [[""], {}],
    "a NUL byte" => [["ls", "a\0b"], {}],
    "a NUL byte for the shell" => [["ls a\0b"], {shell: true}],
    "an empty shell command" => [[" "], {shell: true}],
    "an Array for the shell" => [["ls", "-l"], {shell: true}],
    "an Array in an Array for the shell" => [[%w[ls -l]], {shell: true}],
    "a negative timeout" => [["ls"], {timeout: -1}], "a negative idle" => [["ls"], {idle: -0.1}],
    "a negative grace" => [["ls"], {grace: -1}],
    "a timeout that is no number" => [["ls"], {timeout: Float::NAN}],
    "an empty separator" => [["ls"], {sep: ""}], "another separator" => [["ls"], {sep: :line}],
    "no limit" => [["ls"], {limit: 0}], "another way with long rows" => [["ls"], {long: :drop}],
    "an unknown encoding" => [["ls"], {encoding: "no-such"}],
    "an encoding without ASCII" => [["ls"], {encoding: "UTF-16LE"}],
    "another stderr" => [["ls"], {err: :pipe}],
    "an environment's name with =" => [["ls"], {env: {"A=" => "1"}}],
    "a NUL byte in the environment" => [["ls"], {env: {"A" => "1\0"}}],
    "a NUL byte in the folder" => [["ls"], {chdir: "a\0b"}],
    "an unknown option" => [["ls"], {timout: 1}],
    "stderr beside a terminal" => [["ls"], {pty: true, err: :tail}]
  }.freeze
  BAD_TYPES = {
    "nil" => [[nil], {}], "an Array behind the program" => [["ls", %w[-l]], {}],
    "a timeout in words" => [["ls"], {timeout: "1"}], "no grace" => [["ls"], {grace: nil}],
    "env that is no Hash" => [["ls"], {env: ["A"]}],
    "input that is a number" => [["ls"], {input: 1}]
  }.freeze

  {ArgumentError => BAD, TypeError => BAD_TYPES}.each do |klass, cases|
    cases.each do |name, (command, options)|
      test "#{name} is refused before anything starts" do
        error = assert_raises(klass) { Shell.rows(*command, **options) }
        assert_kind_of Godwit::Error, error
        assert_match(/\Arows: /, error.message)
        assert_raises(klass) { Shell.run(*command, **options) }
      end
    end
  end

  test "pipelines refuse commands that make no pipeline" do
    [[], [[]], [%w[ls], []], ["ls", nil]].each do |commands|
      assert_raises(ArgumentError, TypeError) { Shell.pipe(*commands) }
    end
    assert_raises(ArgumentError) { Shell.pipe(%w[ls -l], %w[cat], shell: true) }
    assert_raises(ArgumentError) { Shell.pipe(%w[ls], %w[cat], pty: true) }
  end
end
