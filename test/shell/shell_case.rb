# frozen_string_literal: true

require "test_helper"

# Shared by the tests of Shell: /proc shows processes that a command leaves behind.
class ShellCase < Godwit::TestCase
  Shell = Godwit::Shell

  # A command that prints its number, leaves a child in its group, and stays.
  STAYS = "echo $$; sleep 1000 & sleep 1000 & wait"
  STUBBORN = "trap '' TERM; echo $$; sleep 1000 & while :; do sleep 1000; done"

  private

  def sh(script, **options, &block) = Shell.rows(script, shell: true, **options, &block)

  # Waits until a thread or fiber waits for a row of the stream, which another thread may only now
  # begin to read.
  def until_reading(stream)
    until_waiting(poller_of(stream))
  end

  def poller_of(stream)
    eventually { stream.instance_variable_get(:@jobs).last }.instance_variable_get(:@poller)
  end

  # @return [Array<Array>] pid, state, parent, group of each process
  def processes
    Dir.children("/proc").grep(/\A\d+\z/).filter_map do |pid|
      state, parent, group = File.binread("/proc/#{pid}/stat")[/\) (.*)/n, 1].split.first(3)
      [pid.to_i, state, parent.to_i, group.to_i]
    rescue SystemCallError
      nil
    end
  end

  # Asserts that the block raises this error, with such a message.
  # @return [Exception]
  def assert_error(klass, says, &block)
    assert_raises(klass, &block).tap { |error| assert_match says, error.message }
  end

  def living(group)
    processes.select { |_, state, _, own| own == group && !%w[Z X].include?(state) }
  end

  def children = processes.select { |_, _, parent, _| parent == Process.pid }.map(&:first)

  # JRuby opens more files over time.
  def descriptors
    return [] if RUBY_ENGINE == "jruby"
    Dir.glob("/proc/self/fd/*").filter_map do |path|
      "#{path} #{File.readlink(path)}" if File.symlink?(path)
    end
  rescue Errno::ENOENT
    retry
  end

  # Runs the block, which gives the group of the started command, then looks for remaining
  # processes, without the collector's help.
  def assert_nothing_left
    GC.disable unless RUBY_ENGINE == "jruby"
    before = [children, descriptors, live_threads]
    group = Integer(yield)
    assert group > 1
    left = nil
    eventually do
      left = {
        living: living(group), children: children - before[0], descriptors: descriptors - before[1],
        threads: live_threads - before[2]
      }
      left.values.all?(&:empty?)
    end
  rescue Minitest::Assertion
    flunk "left: #{left}"
  ensure
    GC.enable
  end
end
