# frozen_string_literal: true

require "test_helper"
require "shell/shell_case"

# How soon a command is stopped, and what waiting for its rows costs.
class ShellTimingTest < ShellCase
  test "a quiet command is stopped in less than 0.1 s, and its reader told" do
    stream = Shell.rows("sleep", "1000")
    thread = in_thread { stream.next }
    until_reading(stream)
    took = seconds do
      stream.close
      assert_raises(StopIteration) { thread.value }
    end
    assert_operator took, :<, 0.1
  end

  test "a command that ignores TERM is killed as the grace ends" do
    stream = sh(STUBBORN, grace: 0.3)
    assert_operator seconds { stream.first }, :<, 0.3 + 0.2
  end

  test "an interrupt ends a wait for rows, and the grace, at once" do
    [["exec sleep 1000", {}], [STUBBORN, {grace: 2}]].each do |script, options|
      stream = sh("echo; #{script}", **options)
      thread = in_thread { stream.each { break unless options.empty? } }
      options.empty? ? until_reading(stream) : eventually { poller_of(stream).closed? }
      assert_operator seconds { thread.kill.join }, :<, 0.1
    end
  end

  test "a command whose tenth row is enough is gone 0.1 s after it" do
    enough = nil
    sh("while :; do find /usr/share; done").lazy.map { |row| (enough = monotonic) && row }.first(10)
    assert_operator monotonic - enough, :<, 0.1
  end

  test "the reader waits without using the processor" do
    stream = sh("sleep 0.5; echo a")
    before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    assert_equal ["a"], stream.to_a
    assert_operator Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before, :<, 0.1
  end
end
