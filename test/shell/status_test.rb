# frozen_string_literal: true

require_relative "shell_case"

# How commands end, by themselves or by a time-out, and the status that Godwit reports.
class StatusTest < ShellCase
  test "a command that ended well" do
    status = nil
    took = seconds { status = sh("echo a; echo bb") { nil } }
    assert status.success?
    refute status.failed? || status.stopped? || status.timed_out? || status.unknown? ||
      status.truncated?
    names = %i[exitstatus signal rows bytes stderr_tail command stages frozen?]
    assert_equal [0, nil, 2, 5, nil, "echo a; echo bb", [status], true],
      names.map { |name| status.public_send(name) }
    assert_operator status.seconds, :>, 0
    assert_operator status.seconds, :<=, took
    case status
    in {success: true, exitstatus: 0, rows:} then assert_equal 2, rows
    end
  end

  test "an exit status, and a signal" do
    {"exit 3" => [3, nil, false, true, "exit status 3"],
     "kill -SEGV $$" => [nil, :SEGV, false, true, "killed by SIGSEGV"]}.each do |script, expected|
      status = sh(script) { nil }
      assert_equal expected,
        %i[exitstatus signal success? failed? to_s].map { |name| status.public_send(name) }
      said = Regexp.escape("#{script}: #{expected.last}, 0 rows, 0 bytes, ")
      assert_match(/\A#<Godwit::Shell::Status #{said}[\d.]+ s>\z/, status.inspect)
    end
  end

  test "a command is shown in the shell's syntax" do
    assert_equal "echo 'a b' 'it'\\''s' '' x=1 'ü*'",
      Shell.rows("echo", "a b", "it's", "", "x=1", "ü*").tap(&:to_a).status.command
    assert_equal "echo '?' 'ü' 'ü'",
      Shell.rows("echo", "\xFF", "ü".b, "ü").tap(&:to_a).status.command
    assert_equal "echo ?", sh("echo \xFF") { nil }.command
    assert_equal "#<Godwit::Shell::Stream seq 3>", Shell.rows("seq", "3").inspect
  end

  test "run raises for a failure: command, status, last lines of stderr" do
    error = assert_raises(Godwit::CommandError) do
      Shell.run("seq 1 20 >&2; exit 3", shell: true, err: :tail) { nil }
    end
    assert_kind_of Godwit::Error, error
    assert_equal ["run seq 1 20 >&2; exit 3: exit status 3\n#{(11..20).to_a.join("\n")}", 3],
      [error.message, error.status.exitstatus]
    assert_error(Godwit::CommandError, /\Arun kill -KILL \$\$: killed by SIGKILL\z/) do
      Shell.run("kill -KILL $$", shell: true) { nil }
    end
    script = "printf 'gr\\374n' >&2; false"
    error = assert_error(Godwit::CommandError, /grün/) do
      Shell.run(script, shell: true, err: :tail, encoding: "ISO-8859-1") { nil }
    end
    assert error.message.valid_encoding?
  end

  test "run does not raise for a command that the block stopped" do
    assert_equal "a", Shell.run("echo a; exec sleep 1000", shell: true) { |row| break row }
    assert_raises(KeyError) { Shell.run("echo a; exec sleep 1000", shell: true) { raise KeyError } }
  end

  test "run without a block leaves stdout where it is" do
    assert_prints "hello\n0\nrun false: exit status 1\n", <<~RUBY
      require "godwit"
      p Godwit::Shell.run("echo", "hello").rows
      Godwit::Shell.run("false") rescue puts $!.message
    RUBY
  end

  test "timeout: ends the whole" do
    rows = 0 # on a busy machine the time-out may come before the first row
    status = nil
    took = seconds { status = sh("echo a; exec sleep 1000", timeout: 0.2) { rows += 1 } }
    names = %i[timed_out timed_out? success? failed? stopped? signal rows]
    assert_equal [:timeout, true, false, true, false, :TERM, rows],
      names.map { |name| status.public_send(name) }
    assert_includes 0.2..took, status.seconds
    assert_error(Godwit::CommandError, /\Arun sleep 1000: no end in time \(timeout:\)\z/) do
      Shell.run("sleep", "1000", timeout: 0.1) { nil }
    end
  end

  # Command => its limits. The first limit ends the command.
  LIMITED = {
    "yes" => {timeout: 0.2}, "cat /dev/zero" => {timeout: 0.2, limit: 1 << 20, long: :cut},
    "seq 1000000" => {timeout: 0}, "sleep 1000 & echo a" => {timeout: 0.3, drain: nil},
    "echo a; exec sleep 1000" => {idle: 0.2}, "sleep 1000 & echo b" => {idle: 0.3, drain: nil},
    "while :; do printf x; sleep 0.05; done" => {idle: 0.3} # bytes without a newline are no row
  }.freeze

  test "timeout: ends busy and silent commands, idle: silent ones, also while a grandchild holds " \
    "the pipe" do
    LIMITED.each do |script, options|
      rows = 0
      status = sh(script, **options) { rows += 1 }
      assert_equal [options.keys.first, rows, true],
        [status.timed_out, status.rows, status.failed?], script
    end
  end

  test "timeout: is seen between two rows that were read together" do
    status = Shell.rows("seq", "1000", timeout: 0.2) { sleep(0.15) }
    assert_equal :timeout, status.timed_out
    assert_operator status.rows, :<=, 3
  end

  test "idle: does not count the time that the caller takes" do
    go = Queue.new
    options = {idle: 0.8, input: Enumerator.new { |pieces| loop { pieces << go.pop } }}
    with_clock do |clock| # this clock moves only when the test advances it
      stream = sh("echo a; read x; echo b", **options)
      assert_equal "a", stream.next
      clock.advance(0.9)
      go << "\n"
      assert_equal "b", stream.next
      stream.close
      rows = []
      status = sh("echo a; read x; echo b", **options) do |row|
        rows << row
        clock.advance(0.9)
        go << "\n"
      end
      assert_equal [%w[a b], nil], [rows, status.timed_out]
    end
  end

  test "a grandchild that holds the pipe is waited for as long as it writes, and drain: longer" do
    rows = []
    script = "echo a; (for i in 1 2 3 4; do sleep 0.2; echo $i; done) &"
    status = sh(script, drain: 10) { |row| rows << row }
    assert_equal [%w[a 1 2 3 4], true, false], [rows, status.success?, status.truncated?]
    status = sh("sleep 1000 & echo a", drain: 0.2) { nil }
    assert_equal [true, true, 1], [status.success?, status.truncated?, status.rows]
    status = sh("echo a; (sleep 0.4; echo late) &", drain: nil) { nil }
    assert_equal [2, false], [status.rows, status.truncated?]
  end

  test "the end of the output is not the end of the command" do
    status = sh("exec >&-; sleep 0.2; exit 3") { nil }
    assert_equal 3, status.exitstatus
    assert_operator status.seconds, :>=, 0.2
  end

  test "a status that the application took is unknown" do
    stream = sh("echo $$; read x; exit 3", input: Enumerator.new { |pieces| pieces << "\n" })
    pid = stream.next.to_i
    Process.wait(pid)
    assert_raises(StopIteration) { stream.next }
    assert stream.status.unknown?
    refute stream.status.failed? || stream.status.success?
    assert_nil stream.status.exitstatus
    assert_match(/\Astatus unknown: other code took it/, stream.status.to_s)
  end

  test "an application that ignores SIGCHLD has no status either" do
    not_on :jruby, "Java needs SIGCHLD"
    result = assert_child run_child(<<~RUBY)
      require "godwit"
      trap(:CHLD, "IGNORE")
      puts Godwit::Shell.rows("echo", "a") { |row| puts row }.unknown?
      puts Godwit::Shell.rows("yes").first
      puts Godwit::Shell.run("yes") { |row| break row }
      begin
        Godwit::Shell.run("false")
      rescue Godwit::CommandError => error
        puts error.message, error.status.unknown?
      end
      p Godwit::Shell.pipe(%w[false], %w[true]) { nil }.unknown?
    RUBY
    assert_equal "a\ntrue\ny\ny\nrun false: status unknown: other code took it (Process.wait, or " \
      "trap(\"CHLD\", \"IGNORE\"))\ntrue\ntrue\n", result.stdout
  end

  test "a pipeline whose failed stages are known failed; with a stage unknown, it has no status" do
    process = Struct.new(:exitstatus, :termsig)
    {[nil, 0] => nil, [3, nil, 0] => 3, [0, nil] => nil, [0, 0] => 0}.each do |codes, expected|
      statuses = codes.map { |code| code && process.new(code, nil) }
      decisive = Shell::Status.send(:decisive, statuses, [0])
      expected ? assert_equal(expected, decisive.exitstatus) : assert_nil(decisive)
    end
  end

  test "times that never end are none" do
    [Float::INFINITY, 1e30, 10**40].each do |forever|
      limits = %i[timeout idle drain grace].to_h { |name| [name, forever] }
      assert_equal ["1"], Shell.rows("echo", "1", **limits).to_a
      assert_equal "y", Shell.rows("yes", timeout: forever, grace: forever).first
    end
  end
end
