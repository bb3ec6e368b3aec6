# frozen_string_literal: true

require_relative "shell_case"

# However a program stops reading rows, no process of the command remains.
class StoppingTest < ShellCase
  Stop = Class.new(StandardError)

  EXITS = {
    "break" => -> { sh(STAYS) { |row| break row } },
    "raise" => lambda do
      group = nil
      assert_raises(Stop) { sh(STAYS) { |row| (group = row) && raise(Stop) } }
      group
    end,
    "first" => -> { sh(STAYS).first },
    "first of a pipeline" => lambda do
      stream = Shell.pipe(STAYS, "cat", "cat; exec sleep 1000", shell: true)
      stream.first.tap do
        assert_equal [true, false], [stream.status.stopped?, stream.status.failed?]
      end
    end,
    "next and close" => -> { (stream = sh(STAYS)).next.tap { stream.close } },
    "close in the block" => lambda do
      group = nil
      stream = sh(STAYS)
      stream.each { |row| stream.close && group = row }
      group
    end,
    # The shortest time-out may end the command before it prints anything.
    "timeout:" => lambda do
      group = nil
      [0.1, 1, 5, 10].find do |time|
        status = sh(STAYS, timeout: time) { |row| group = row }
        assert_equal :timeout, status.timed_out
        group
      end
      group
    end,
    "kill of the thread that reads" => lambda do
      group = nil
      stream = sh(STAYS)
      thread = in_thread { stream.each { |row| group = row } }
      eventually { group }
      until_reading(stream)
      thread.kill.join
      group
    end
  }.freeze

  # Opens the eventfd that all waits use, so that no test counts it as a remaining descriptor.
  def setup
    super
    out, into = pipe
    poller = Godwit::Poller.new(out)
    thread = in_thread { poller.wait }
    until_waiting(poller)
    into << "x"
    thread.join
    poller.close
    GC.start
  end

  EXITS.each do |name, leave|
    test "#{name}: no process, no descriptor, no thread is left" do
      assert_nothing_left { instance_exec(&leave) }
    end
  end

  test "the end of a command ends the other processes of its group" do
    assert_nothing_left do
      group = nil
      status = sh("echo $$; sleep 1000 >/dev/null 2>&1 & exit 0") { |row| group = row }
      assert status.success?
      group
    end
  end

  test "a command that cannot start leaves nothing, nor do the stages before it" do
    assert_nothing_left(group: false) do
      assert_raises(Errno::ENOENT) { Shell.rows("/no/such/program") { flunk } }
      assert_raises(Errno::ENOENT) { Shell.pipe(%w[sleep 1000], %w[/no/such/program]) { flunk } }
    end
  end

  IGNORES_TERM = "trap \"\" TERM; echo ready; while :; do sleep 1000; done"
  # A process that ignores TERM => its script, and the signal that ends the command's leader.
  {"a command" => [IGNORES_TERM, :KILL],
   "a command's child" => ["sh -c '#{IGNORES_TERM}' & wait", :TERM]}
    .each do |what, (script, signal)|
    test "#{what} that ignores TERM is killed after the grace" do
      stream = sh("echo $$; #{script}", grace: 0.3)
      group = stream.next.to_i
      assert_equal "ready", stream.next
      assert_operator seconds { stream.close }, :>=, 0.3
      assert_equal signal, stream.status.signal
      assert_empty living(group)
    end
  end

  # A reaped pid may belong to another process, so the test checks the order of calls on a Child.
  test "the leader is reaped after the last signal, and never signalled again" do
    calls = []
    processes = Shell::Processes.new(30) # seconds of grace; TERM ends the command sooner
    child = Shell::Child.new(Process.spawn("sleep", "1000", pgroup: true), ["sleep"])
    child.define_singleton_method(:signal) { |name| calls << name && super(name) }
    child.define_singleton_method(:reap) { calls << :reap && super() }
    processes.add(child)
    processes.stop
    assert_equal [:TERM, :CONT, :reap], calls
    processes.stop
    processes.signal(:TERM)
    assert_equal :reap, (calls - [:TERM]).last
    killed = []
    Process.stub(:kill, ->(*arguments) { killed << arguments }) { child.signal(:KILL) }
    assert_empty killed, "a reaped command's number was signalled"
  end

  test "setsid escapes, as documented" do
    stream = sh("setsid sh -c 'echo $$; sleep 1000 >/dev/null' & wait")
    pid = stream.first.to_i
    refute_empty living(pid)
  ensure
    Process.kill(:KILL, -pid) if pid&.positive?
  end

  test "many commands at once leave nothing" do
    count = rounds(Godwit::TestSupport::Length.of(40, long: 100), stressed: 3)
    assert_nothing_left(group: false) do
      before = children
      streams = Array.new(count) { |number| sh("echo #{number}; exec sleep 1000") }
      assert_equal (0...count).map(&:to_s), streams.map(&:next)
      assert_equal count, (children - before).size
      # If a command had inherited another command's pipe, the close would not close that pipe.
      streams.each(&:close)
      assert(streams.all? { |stream| stream.status.stopped? })
    end
  end
end
