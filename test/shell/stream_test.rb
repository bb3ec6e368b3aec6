# frozen_string_literal: true

require_relative "shell_case"

# A Stream as an Enumerator, and arguments that Shell refuses.
class ShellStreamTest < ShellCase
  test "it is an Enumerator, lazy and not" do
    stream = Shell.rows("seq", "5")
    assert_kind_of Enumerator, stream
    assert_equal %w[1 2 3 4 5], stream.to_a
    assert_equal [["1", 1], ["2", 2]], stream.with_index(1).first(2)
    assert_equal %w[2 4], stream.lazy.select { |row| row.to_i.even? }.first(2)
    assert_equal [%w[1 2], %w[3 4], %w[5]], stream.each_slice(2).to_a
    assert_equal [%w[1 a], %w[2 b]], stream.zip(%w[a b]).first(2)
    assert_equal %w[1 2 3 4 5 1], (stream + ["1"]).to_a
    assert_same stream, stream.each
    assert_nil stream.size
    %i[dup clone].each do |copy|
      assert_raises(Godwit::UnsupportedError) { stream.public_send(copy) }
    end
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

  test "a StopIteration of the block ends the rows with that exception" do
    %i[each each_batch].each do |name|
      rows = Shell.rows("seq", "3")
      assert_raises(StopIteration, name) { rows.public_send(name) { raise StopIteration } }
      assert rows.status.stopped?, name
    end
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
    rows = []
    status = stream.each { |row| (rows << row) && stream.close }
    assert_equal [["1"], 1], [rows, status.rows]
    assert_equal "1", stream.rewind.next
    assert stream.close.stopped?
  end

  test "each within each runs twice" do
    stream = Shell.rows("seq", "2")
    pairs = []
    stream.each { |row| stream.each { |other| pairs << [row, other] } }
    assert_equal [%w[1 1], %w[1 2], %w[2 1], %w[2 2]], pairs
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

  test "a program or a folder that is not there is named before any row" do
    {%w[/no/such/program x] => %r{\Arows /no/such/program: No such file or directory \(no such pr},
     ["n\xFF pe"] => /n\? pe/, ["ls -l"] => /shell: true/}.each do |command, says|
      error = assert_error(Errno::ENOENT, says) { Shell.rows(*command) { flunk } }
      assert_kind_of Godwit::Error, error
    end
    assert_raises(Errno::ENOENT) { Shell.rows("/no/such/program").next }
    assert_error(Errno::EACCES, %r{\Arun /etc/passwd: .*\(it is not executable\)\z}) do
      Shell.run("/etc/passwd")
    end
    assert_error(Errno::ENOENT, %r{\Arows /no/such/folder: .*chdir: takes a folder}) do
      Shell.rows("ls", chdir: "/no/such/folder") { flunk }
    end
  end

  WRONG = {
    ArgumentError => [[], [""], ["ls", "a\0b"], ["ls a\0b", {shell: true}], [" ", {shell: true}],
      ["ls", "-l", {shell: true}], [%w[ls -l], {shell: true}], ["ls", {timeout: -1}],
      ["ls", {idle: -0.1}], ["ls", {grace: -1}], ["ls", {timeout: Float::NAN}], ["ls", {sep: ""}],
      ["ls", {sep: :line}], ["ls", {limit: 0}], ["ls", {long: :drop}],
      ["ls", {encoding: "no-such"}], ["ls", {encoding: "UTF-16LE"}], ["ls", {err: :pipe}],
      ["ls", {env: {"A=" => "1"}}], ["ls", {env: {"A" => "1\0"}}], ["ls", {chdir: "a\0b"}],
      ["ls", {timout: 1}], ["ls", {pty: true, err: :tail}], ["ls", {pty: true, foreground: true}]],
    TypeError => [[nil], ["ls", %w[-l]], ["ls", {timeout: "1"}], ["ls", {grace: nil}],
      ["ls", {env: ["A"]}], ["ls", {input: 1}]]
  }.freeze

  test "wrong commands and options are refused before anything starts" do
    WRONG.each do |klass, calls|
      calls.each do |call|
        options = call.grep(Hash).first || {}
        words = call.grep_v(Hash)
        error = assert_raises(klass, call.inspect) { Shell.rows(*words, **options) }
        assert_kind_of Godwit::Error, error, call.inspect
        assert_match(/\Arows: /, error.message)
        assert_raises(klass, call.inspect) { Shell.run(*words, **options) }
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
