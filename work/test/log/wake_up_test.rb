# frozen_string_literal: true

require "work_helper"

# The FIFO of a consumer process.
class WorkWakeUpTest < Godwit::WorkCase
  WakeUp = Godwit::Work.const_get(:WakeUp)

  def wake_up = own(WakeUp.new(File.join(scratch_dir, "members")))

  test "a byte wakes its reader, any number of times" do
    one = wake_up
    assert_nil one.io.wait_readable(0)
    3.times { assert WakeUp.wake(one.place) }
    assert one.io.wait_readable(5)
    one.clear
    assert_nil one.io.wait_readable(0)
    assert WakeUp.wake(one.place)
    assert one.io.wait_readable(5)
  end

  test "a full FIFO still counts as alive" do
    one = wake_up
    one.io.write_nonblock("x" * 65_536)
    assert WakeUp.wake(one.place)
  end

  test "any number of FIFOs survives a compaction" do
    result = run_child(<<~RUBY, [scratch_dir])
      require "godwit/work"
      wake_up = Godwit::Work.const_get(:WakeUp)
      all = Array.new(30) { wake_up.new(ARGV[0]) } # Ruby 3.1 failed at the 30th
      GC.compact
      all << wake_up.new(ARGV[0])
      puts all.count { |one| wake_up.alive?(one.place) }
    RUBY
    assert_equal "31\n", assert_child(result).stdout
  end

  test "a FIFO without a reader is of a dead process" do
    child = start_child(<<~RUBY, [scratch_dir])
      require "godwit/work"
      one = Godwit::Work.const_get(:WakeUp).new(ARGV[0])
      puts one.place, "ready"
      $stdout.flush
      sleep
    RUBY
    place = child.wait_for(/^ready$/).stdout.lines.first.chomp
    assert WakeUp.wake(place)
    child.signal(:KILL).finish
    refute WakeUp.wake(place)
    refute WakeUp.wake(File.join(scratch_dir, "missing"))
  end

  test "a program that a process starts does not keep it alive" do
    child = start_child(<<~RUBY, [scratch_dir])
      require "godwit/work"
      one = Godwit::Work.const_get(:WakeUp).new(ARGV[0])
      puts spawn("sleep 60"), one.place, "ready"
      $stdout.flush
      sleep
    RUBY
    pid, place = child.wait_for(/^ready$/).stdout.lines(chomp: true)
    assert WakeUp.wake(place)
    child.signal(:KILL)
    eventually { !WakeUp.wake(place) }
    assert_equal 1, Process.kill(0, pid.to_i)
  ensure
    Process.kill(:KILL, pid.to_i) if pid
    child&.finish
  end

  test "a child does not keep its dead parent alive" do
    child = start_child(<<~RUBY, [scratch_dir])
      require "godwit/work"
      one = Godwit::Work.const_get(:WakeUp).new(ARGV[0])
      ready = IO.pipe
      fork { ready[1].puts "ready"; sleep 60 }.then { |pid| puts pid }
      ready[0].gets
      puts one.place, "ready"
      $stdout.flush
      sleep
    RUBY
    pid, place = child.wait_for(/^ready$/).stdout.lines(chomp: true)
    assert WakeUp.wake(place)
    child.signal(:KILL)
    eventually { !WakeUp.wake(place) }
  ensure
    Process.kill(:KILL, pid.to_i) if pid
    child&.finish
  end
end
