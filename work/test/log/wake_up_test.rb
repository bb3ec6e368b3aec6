# frozen_string_literal: true

require "work_helper"

# WakeUp: the FIFO of a consumer process, by which other processes wake it.
class WorkWakeUpTest < Godwit::WorkCase
  WakeUp = Godwit::Work.const_get(:WakeUp)

  def wake_up = own(WakeUp.new(File.join(scratch_dir, "members")))

  def targets(*fifos) = WakeUp::Targets.new.tap { |all| all.update(fifos.map(&:path)) }
  def assert_woken(*fifos) = fifos.each { |one| assert one.io.wait_readable(5) }
  def refute_woken(*fifos) = fifos.each { |one| assert_nil one.io.wait_readable(0) }

  test "a folder that takes no FIFO" do
    File.write(folder = File.join(scratch_dir, "members"), "")
    error = assert_raises(Godwit::Work::AccessError) { WakeUp.new(folder) }
    assert_match(/\A#{folder}: File exists.*: let this user make FIFOs in this folder\z/,
      error.message)
    File.stub(:mkfifo, ->(*) { raise Errno::ENOSPC }) do
      assert_raises(Godwit::Work::FullError) { WakeUp.new(scratch_dir) }
    end
  end

  test "a reader learns which partitions have new records, or looks at all" do
    one = wake_up
    targets = targets(one)
    wake = lambda { |*calls|
      calls.each { |partitions| targets.wake(partitions) }
      one.clear
    }
    assert_equal [7, 300_000], wake.call([7], [7, 300_000])
    assert_nil wake.call([7], [])
    assert_nil wake.call((1..2_000).to_a)
    assert_nil wake.call(*[(1..1_000).to_a] * 17) # more bytes than a FIFO stores
    assert_nil one.clear
    assert_equal [1], wake.call([1])
  end

  test "a reader that is no longer a target is not woken, and its FIFO is closed" do
    one, other = wake_up, wake_up
    targets = targets(one, other)
    assert_equal 2, descriptors(one.path) # the reader's, and the target's for writes
    targets.update([other.path])
    assert_equal 1, descriptors(one.path)
    targets.wake([])
    assert_woken(other)
    refute_woken(one)
  end

  test "a full FIFO still counts as alive, and a closed or missing one is passed over" do
    one, closed, last = wake_up, wake_up, wake_up
    missing = Struct.new(:path).new(File.join(scratch_dir, "missing"))
    targets = targets(one, closed, missing, last)
    closed.close
    refute_path_exists closed.path
    one.io.write_nonblock("x" * 65_536)
    targets.wake([])
    elsewhere = File.join(scratch_dir, "no", "folder") # counts as alive: its folder is missing
    assert_equal [true, false, false, true],
      [one.path, closed.path, missing.path, elsewhere].map { |path| WakeUp.alive?(path) }
    assert_woken(last)
  end

  test "any number of FIFOs survives a compaction" do
    result = run_child(<<~RUBY, [scratch_dir])
      require "godwit/work"
      wake_up = Godwit::Work.const_get(:WakeUp)
      all = Array.new(30) { wake_up.new(ARGV[0]) }
      GC.compact
      all << wake_up.new(ARGV[0])
      puts all.count { |one| wake_up.alive?(one.path) }
    RUBY
    assert_equal "31\n", assert_child(result).stdout
  end

  # @return [Integer] how many descriptors this process has open at the path
  def descriptors(path)
    Dir.glob("/proc/self/fd/*").count do |link|
      File.readlink(link) == path
    rescue Errno::ENOENT # the descriptor was closed after the glob
      false
    end
  end

  # Ruby that starts a process, which inherits descriptors, and returns the id of that process.
  OTHERS = {
    "a program that a process starts" => 'spawn("sleep 60")',
    "a child of a dead process" => <<~RUBY.chomp
      IO.pipe.then { |ready| fork { ready[1].puts "ready"; sleep 60 }.tap { ready[0].gets } }
    RUBY
  }.freeze

  OTHERS.each do |what, start|
    test "#{what} does not keep it alive" do
      child = start_child(<<~RUBY, [scratch_dir])
        require "godwit/work"
        one = Godwit::Work.const_get(:WakeUp).new(ARGV[0])
        puts(#{start}, one.path, "ready")
        $stdout.flush
        sleep
      RUBY
      pid, place = child.wait_for(/^ready$/).stdout.lines(chomp: true)
      assert WakeUp.alive?(place)
      child.signal(:KILL)
      eventually { !WakeUp.alive?(place) }
      assert_equal 1, Process.kill(0, pid.to_i)
    ensure
      Process.kill(:KILL, pid.to_i) if pid
      child&.finish
    end
  end
end
