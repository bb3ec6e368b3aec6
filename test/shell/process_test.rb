# frozen_string_literal: true

require_relative "shell_case"

# The exit of a process, forks, signals, and streams that the collector finds.
class ProcessTest < ShellCase
  PRELUDE = <<~'RUBY'
    require "godwit"
    $stdout.sync = true
    STAYS = "echo $$; sleep 1000 & sleep 1000 & wait"
    # The grace is so long that TERM ends each process, and not KILL.
    def sh(script, grace: 60, **options, &block)
      Godwit::Shell.rows(script, shell: true, grace: grace, **options, &block)
    end
    # Opens the eventfd that all waits use.
    def wait_once
      out, into = IO.pipe
      poller = Godwit::Poller.new(out)
      thread = Thread.new { poller.wait }
      await { poller.__send__(:_waiters) == 1 }
      into << "x"
      thread.join
      [poller, out, into].each(&:close)
    end
    # State, parent and group of each process on this machine.
    def processes
      Dir.glob("/proc/[0-9]*/stat").filter_map do |path|
        File.binread(path)[/\) (.*)/n, 1].split.first(3)
      rescue SystemCallError
        nil
      end
    end
    def alive(group)
      processes.count { |state, _, own| own == group && !%w[Z X].include?(state) }
    end
    def mine = processes.count { |_, parent| parent == $$.to_s }
  RUBY

  # Code that abandons a stream without running an `ensure` of the stream.
  ABANDONED = {
    "next with input" => "sh(STAYS, input: Enumerator.new { |y| Queue.new.pop }).next",
    "next of a lazy one, with stderr" => "sh(STAYS, err: :tail).lazy.map(&:to_s).next",
    "a fiber" => "Fiber.new { sh(STAYS) { |row| Fiber.yield row } }.resume"
  }.freeze

  ABANDONED.each do |name, code|
    test "abandoned and collected: #{name}" do
      not_on :jruby, "the moment of a Java collection is unpredictable"
      assert_prints "gone\n", PRELUDE + <<~RUBY
        sh("echo").to_a
        wait_once
        GC.start
        before = [descriptors, Thread.list.size]
        GC.disable # the collector could end the command before the next check
        def abandon = Thread.new { #{code} }.value
        group = abandon
        abort "it does not run" unless alive(group) > 0
        GC.enable
        await { GC.start; alive(group) == 0 && mine == 0 }
        await { GC.start; [descriptors, Thread.list.size] == before }
        puts "gone"
      RUBY
    end
  end

  test "a stream that is held is not collected" do
    assert_prints "b\n", PRELUDE + <<~RUBY
      stream =
        sh("echo $$; read x; echo b", input: Enumerator.new { |y| y << Thread.main[:go].pop })
      Thread.main[:go] = Queue.new
      group = stream.next
      20.times { collect_garbage; "x" * 100_000 }
      abort "it was ended" unless alive(group) > 0
      Thread.main[:go] << "\\n"
      puts stream.next
    RUBY
  end

  ENDINGS = {
    "at the end of the program" => "puts ($keep = sh(STAYS)).next",
    "at an exit in the block" => "sh(STAYS) { |row| puts row; exit }",
    "at exit with a thread in it" =>
      "Thread.new { sh(STAYS) { |row| puts row; $ready = true } }; await { $ready }",
    "at exit, one that ignores TERM" =>
      "puts ($keep = sh(%q(trap '' TERM; echo $$; while :; do sleep 1000; done), grace: 0.3)).next",
    "at exit, started by another at_exit" =>
      "sh('echo').to_a; at_exit { at_exit { puts ($keep = sh(STAYS)).next } }"
  }.freeze

  ENDINGS.each do |name, code|
    test "nothing is left #{name}" do
      result = assert_child run_child(PRELUDE + code)
      group = Integer(result.stdout.lines.first)
      assert eventually("left: #{living(group)}") { living(group).empty? }
    end
  end

  test "a forked child leaves its parent's commands alone" do
    not_on :jruby, "JRuby cannot fork"
    assert_prints "[0, 0, 0, 7, 8, 1]\n1\nb\n0\n", PRELUDE + <<~RUBY
      stream = sh("echo $$; echo b; exec sleep 1000")
      group = stream.next
      inside = nil
      own = Godwit::Shell.rows("echo", "own")
      own.to_a
      pids = [
        -> { exit },
        -> { (stream = nil) || GC.start },
        -> { stream.close },
        lambda do
          2.times { stream.next }
        rescue Godwit::ForkedError
          exit 7
        end,
        lambda do
          Godwit::Shell.signal(:KILL)
          own.each { |row| exit!(row == "own" ? 8 : 9) }
        end
      ].map { |program| fork(&program) }
      sh("echo; exec sleep 1000") do
        pids << fork { raise "in the block" }
        break
      end rescue nil
      p pids.map { |pid| Process.wait2(pid).last.exitstatus }
      p alive(group)
      puts stream.next
      stream.close
      p alive(group)
    RUBY
  end

  SHOWS = 'for s in INT TERM; do trap "echo $s > $FILE; exit 1" $s; done; echo $$; while :; do ' \
    "sleep 0.01; done"

  # Signal => the thread that reads the command's rows: the main thread, or another one.
  {INT: "%s", TERM: "Thread.new { %s }.join"}.each do |signal, thread|
    test "#{signal} that ends the reader reaches the command" do
      not_on :jruby, "an untrapped signal ends Java and raises nothing"
      file = File.join(scratch_dir, "signal")
      reads = "sh(ARGV[0], env: {'FILE' => ARGV[1]}) { |row| puts row; puts 'ready' }"
      child = start_child(PRELUDE + format(thread, reads), [SHOWS, file])
      group = Integer(child.wait_for(/ready/).stdout.lines.first)
      result = child.signal(signal).finish
      assert_equal [Signal.list[signal.to_s], "#{signal}\n"],
        [result.status.termsig, File.read(file)]
      assert_empty living(group)
    end
  end

  test "handlers of the application stay, and pass signals on" do
    not_on :jruby, "trap handlers there do not interrupt the main thread"
    script = "trap 'echo got; exit 0' INT; echo ready; while :; do sleep 0.01; done"
    assert_prints "ready\ngot\n", PRELUDE + <<~RUBY, signal: :INT
      handler = proc { Godwit::Shell.signal(:INT) }
      trap(:INT, &handler)
      sh(#{script.inspect}) { |row| puts row }
      abort "the handler is another" unless trap(:INT, "DEFAULT").equal?(handler)
    RUBY
  end

  test "a command is not disturbed by a handler that returns" do
    not_on :jruby, "trap handlers there do not interrupt the main thread"
    assert_prints "8\ntrue\n", PRELUDE + <<~'RUBY'
      count = 0
      trap(:USR1) { count += 1 }
      rows = 0
      sh("for i in 1 2 3 4 5 6 7 8; do kill -USR1 #{$$}; echo $i; sleep 0.02; done") { rows += 1 }
      p rows, count > 0
    RUBY
  end

  test "a killed reader's command ends when it writes, and no other holds its pipe" do
    child = start_child(PRELUDE + <<~RUBY)
      quiet =
        Array.new(3) do
          Godwit::Shell.rows("sleep", "1000").tap { |stream| Thread.new { stream.next } }
        end
      await { quiet.all?(&:running?) }
      puts ($keep = sh("echo $$; while :; do echo x; sleep 0.01; done")).next, "ready"
      $stdin.read
    RUBY
    group = Integer(child.wait_for(/ready/).stdout.lines.first)
    sleepers = processes.select { |_, _, parent, _| parent == child.pid }.map(&:first) - [group]
    child.signal(:KILL)
    assert eventually { living(group).empty? }
  ensure
    sleepers&.each { |pid| Process.kill(:KILL, pid) }
    child&.finish
  end

  test "a trap handler and another Ractor cannot run commands, and start nothing" do
    not_on :ffi, "the gem ffi allows the main Ractor only"
    result = assert_child run_child(PRELUDE + <<~RUBY)
      sh("echo").to_a
      trap(:USR1) do
        sh("echo a").first
      rescue Godwit::StateError => error
        puts error.message
      end
      Process.kill(:USR1, $$)
      await { mine == 0 }
      Warning[:experimental] = false
      ractor = Ractor.new do
        Godwit::Shell.rows("echo", "a").first
      rescue Godwit::UnsupportedError => error
        error.message
      end
      puts ractor.take
      p mine
    RUBY
    assert_match(
      /a trap handler cannot run commands.*\n.*commands run in the main Ractor only.*\n0\n/,
      result.stdout
    )
  end

  test "too many descriptors: at every limit a clear error, or rows; and nothing is left" do
    not_on :jruby, "Java itself fails where no descriptor is left"
    assert_prints "well\n", PRELUDE + <<~'RUBY'
      sh("echo").to_a
      wait_once
      hold = take_descriptors(64)
      GC.disable
      counts = {rows: 0, error: 0}
      open_ones = -> { (0...64).count { |fd| IO.for_fd(fd, autoclose: false) rescue nil } }
      25.times do |free|
        hold.pop.close
        before = open_ones.call
        begin
          rows = Godwit::Shell.rows("sh", "-c", "echo a; echo b >&2", err: :tail, input: "x").to_a
          abort "rows #{rows}" unless rows == ["a"]
          counts[:rows] += 1
        rescue Errno::EMFILE => error
          unless error.is_a?(Godwit::Error) && error.message.include?("descriptor")
            abort error.message
          end
          counts[:error] += 1
        end
        after = open_ones.call
        abort "#{free}: #{before} descriptors before, #{after} after" unless after == before
        abort "a child is left" unless mine == 0
      end
      abort counts.inspect unless counts.values.all? { |count| count > 3 }
      puts "well"
    RUBY
  end
end
