# frozen_string_literal: true

require_relative "shell_case"

# Threads and fibers that wait for a row. test/waits tests what ends a wait.
class WaitsTest < ShellCase
  Stop = Class.new(StandardError)
  QUIET = %w[sleep 1000].freeze

  test "an interrupt ends the grace too, and a background thread ends the command" do
    groups = []
    GC.disable unless RUBY_ENGINE == "jruby" # otherwise the collector might end the stream
    stream = sh(STUBBORN, grace: 5)
    poller = nil
    thread =
      in_thread { stream.each { |row| (poller = poller_of(stream)) and break groups << row.to_i } }
    eventually { poller&.closed? } # the poller is closed when the grace begins
    thread.raise(Stop)
    assert_raises(Stop) { ended(thread) }
    refute_empty living(groups.last)
    assert eventually { groups.all? { |group| living(group).empty? } }
    # On JRuby the reaper may also have abandoned streams of other tests: check only these groups.
    mine = ->(processes) { processes.children.any? { |child| groups.include?(child.pid) } }
    eventually do
      Shell::Reaper.running.none?(&mine) &&
        Thread.list.none? { |one| one.name == "godwit shell reaper" }
    end
  ensure
    GC.enable
  end

  test "threads that share a stream get each row once" do
    count = rounds(5000, stressed: 50)
    stream = Shell.rows("seq", count.to_s)
    threads = Array.new(4) do
      in_thread do
        mine = []
        loop { mine << stream.next.to_i }
        mine
      end
    end
    assert_equal (1..count).to_a, threads.flat_map(&:value).sort
    assert stream.status.success?
    assert_equal count, stream.status.rows
  end

  test "a fiber's stop lets others run during the grace" do
    not_on :ffi, "a wait there holds its thread"
    not_on :jruby, "JRuby has no fiber scheduler"
    order = []
    File.mkfifo(fifo = File.join(scratch_dir, "go"))
    thread = Godwit::TestSupport::TinyScheduler.thread do
      row = nil
      Fiber.schedule do
        sh("trap '' TERM; echo $$; read line < #{fifo}", grace: 8) { |number| break row = number }
        order << :stopped
      end
      Fiber.schedule do
        sleep 0.01 until row # now the grace has begun; the write below lets the command end
        order << :other
        File.write(fifo, "go\n")
      end
    end
    assert thread.join(HANG), "the fibers hang"
    assert_equal [:other, :stopped], order
  end

  test "a fiber with many short rows lets others run" do
    not_on :jruby, "JRuby has no fiber scheduler"
    rows = 0
    seen = []
    thread = Godwit::TestSupport::TinyScheduler.thread do
      Fiber.schedule do
        Shell.rows("yes") { |row| break if row.hash && (rows += 1) > 2_000_000 || seen.size == 10 }
      end
      Fiber.schedule do
        10.times do
          seen << rows
          sleep 0
        end
      end
    end
    assert thread.join(HANG), "the fibers hang"
    assert_equal 10, seen.size
    most = seen.each_cons(2).map { |before, after| after - before }.max
    assert_operator most, :<=, 2 * 32_768, "what two reads gave"
  end

  test "under async: many commands at once, and with_timeout" do
    not_on :jruby, "JRuby has no fiber scheduler"
    not_on :ffi, "async calls IO#timeout, which Ruby 3.1 lacks" unless IO.method_defined?(:timeout)
    require "async"
    go = File.join(scratch_dir, "go")
    result = in_thread do
      Sync do |task|
        script = "until [ -e #{go} ] || [ $((i += 1)) -gt 2000 ]; do sleep 0.01; done; echo "
        tasks = Array.new(10) { |number| task.async { sh("#{script}#{number}").to_a } }
        # Waits until all ten commands run at the same time.
        task.with_timeout(20) { task.sleep(0.01) until Godwit::Shell::Reaper.running.size >= 10 }
        File.write(go, "")
        assert_raises(Async::TimeoutError) { task.with_timeout(0.05) { Shell.rows(*QUIET).to_a } }
        tasks.flat_map(&:wait)
      end
    end
    assert_equal (0...10).map(&:to_s), result.value
  end

  test "under async no task vanishes, though commands leave others behind" do
    not_on :jruby, "JRuby has no fiber scheduler"
    not_on :ffi, "async calls IO#timeout, which Ruby 3.1 lacks" unless IO.method_defined?(:timeout)
    require "async"
    result = in_thread do
      Sync do |task|
        tasks = Array.new(30) do |number|
          task.async { sh("sleep 30 & sleep 30 & echo #{number}", drain: 0).to_a }
        end
        # Shell makes this call while a command is silent. The call reads a file in /proc, as the
        # search for a command's remaining processes does.
        refute Shell.const_get(:Members).stopped?(Process.pid)
        tasks.flat_map(&:wait)
      end
    end
    assert_equal (0...30).map(&:to_s), result.value
  end
end
