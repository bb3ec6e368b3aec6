# frozen_string_literal: true

require "test_helper"

# Shared by the tests of Shell. Reads /proc to find processes that a command leaves behind.
class ShellCase < Godwit::TestCase
  Shell = Godwit::Shell

  # A command that prints its pid, starts a child in its process group, and does not end.
  STAYS = "echo $$; sleep 1000 & sleep 1000 & wait"
  STUBBORN = "trap '' TERM; echo $$; sleep 1000 & while :; do sleep 1000; done"

  private

  def sh(script, **options, &block) = Shell.rows(script, shell: true, **options, &block)

  # Waits until a thread or fiber has begun to read the stream, and waits for a row.
  def until_reading(stream)
    until_waiting(poller_of(stream))
  end

  def poller_of(stream)
    eventually { stream.instance_variable_get(:@jobs).last }.instance_variable_get(:@poller)
  end

  # @return [Array<Array>] pid, state, parent and group of each process
  def processes
    Dir.children("/proc").grep(/\A\d+\z/).filter_map do |pid|
      state, parent, group = File.binread("/proc/#{pid}/stat")[/\) (.*)/n, 1].split.first(3)
      [pid.to_i, state, parent.to_i, group.to_i]
    rescue SystemCallError
      nil
    end
  end

  # Asserts that the block raises an error of this class, with a matching message.
  # @return [Exception]
  def assert_error(klass, says, &block)
    assert_raises(klass, &block).tap { |error| assert_match says, error.message }
  end

  def living(group)
    processes.select { |_, state, _, own| own == group && !%w[Z X].include?(state) }
  end

  def children = processes.select { |_, _, parent, _| parent == Process.pid }.map(&:first)

  # @return [Array<String>] open files of this process; empty on JRuby, which opens more over time
  def descriptors
    return [] if RUBY_ENGINE == "jruby"
    Dir.glob("/proc/self/fd/*").filter_map do |path|
      "#{path} #{File.readlink(path)}" if File.symlink?(path)
    end
  rescue Errno::ENOENT
    retry
  end

  # Asserts the output of a program.
  def assert_prints(expected, program, **options)
    assert_equal expected, assert_child(run_child(program, **options)).stdout
  end

  # Asserts that the block leaves no process, child, descriptor or thread behind, although the
  # collector is off.
  # @param group [Boolean] whether the block returns the process group of the command
  def assert_nothing_left(group: true)
    GC.disable unless RUBY_ENGINE == "jruby"
    before = [children, descriptors, live_threads]
    started = yield
    assert Integer(started) > 1 if group
    left = nil
    eventually do
      left = {
        living: group ? living(Integer(started)) : [], children: children - before[0],
        descriptors: descriptors - before[1], threads: live_threads - before[2]
      }
      left.values.all?(&:empty?)
    end
  rescue Minitest::Assertion
    left ? flunk("left: #{left}") : raise
  ensure
    GC.enable
  end
end
