# frozen_string_literal: true

require "test_helper"

# Signals, forks and exits in the middle of a proxy's run.
class ProxyProcessTest < Godwit::TestCase
  PRELUDE = <<~RUBY
    require "godwit"
    def streamer(name = "", **options)
      Godwit::Proxy.streamer(
        "inproc://front\#{name}", "inproc://back\#{name}", linger: 0, **options
      )
    end
  RUBY

  {INT: "Interrupt", TERM: "SignalException"}.each do |signal, error|
    [false, true].each do |blocked|
      test "SIG#{signal} ends run #{"with a back end that blocks " if blocked}and gives the " \
        "sockets back" do
        assert_done <<~RUBY
          proxy = streamer
          push = Godwit::PUSH.connect(proxy.frontend.last_endpoint, send_hwm: 1, linger: 0)
          push.send("x") if #{blocked}
          when_waiting(proxy) { Process.kill(:#{signal}, Process.pid) }
          begin
            proxy.run
            abort "run returned"
          rescue #{error}
            abort "still running" if proxy.running?
          end
          push.send("y")
          abort "lost" unless proxy.frontend.recv(timeout: 5)
        RUBY
      end
    end
  end

  test "stop, pause and resume work in a trap block" do
    assert_done <<~RUBY
      proxy = streamer
      trap("USR1") { proxy.pause.resume.stop }
      when_waiting(proxy) { Process.kill(:USR1, Process.pid) }
      proxy.run
      abort if proxy.running? || proxy.paused?
    RUBY
  end

  test "a handled signal leaves run running" do
    assert_done <<~RUBY
      proxy = streamer
      handled = 0
      trap("USR1") { handled += 1 }
      when_waiting(proxy) do
        20.times { |i| Process.kill(:USR1, Process.pid); Thread.pass until handled > i }
        proxy.stop
      end
      proxy.run
      abort unless handled == 20
    RUBY
  end

  test "a child of a process with a running proxy: it raises ForkedError there, and continues in " \
    "the parent" do
    assert_done <<~RUBY
      proxy = streamer.start
      pid = fork do
        [:start, :run, :stop, :pause, :resume, :statistics, :close, :paused?].each do |name|
          proxy.public_send(name)
          abort name.to_s
        rescue Godwit::ForkedError
          nil
        end
        abort "running" if proxy.running?
        begin
          proxy.frontend.recv
          abort "recv"
        rescue Godwit::ForkedError
          nil
        end
        proxy.inspect
        proxy = nil
        3.times { GC.start }
        streamer { |mine| abort unless mine.running? } # the child's own context
        exit!(0)
      end
      Process.wait(pid)
      abort $?.inspect unless $?.success?
      Godwit::PUSH.connect("inproc://front").send("x")
      abort unless Godwit::PULL.connect("inproc://back").recv(timeout: 5) == "x"
      proxy.close
    RUBY
  end

  test "a fork in a trap handler while run waits" do
    assert_done <<~RUBY
      proxy = streamer
      child = nil
      trap("USR1") { child = fork }
      when_waiting(proxy) do
        Process.kill(:USR1, Process.pid)
        Thread.pass until child
        proxy.stop
      end
      begin
        proxy.run
        exit!(3) unless child
      rescue Godwit::ForkedError
        exit!(child ? 4 : 0)
      end
      Process.wait(child)
      abort $?.inspect unless $?.success?
    RUBY
  end

  test "a child that ends within the block of a constructor leaves the proxy to its parent" do
    assert_done <<~RUBY
      streamer do |proxy|
        pid = fork { exit(0) }
        Process.wait(pid)
        abort unless $?.success? && proxy.running?
      end
    RUBY
  end

  ["exit", "exit!(0)", "raise 'enough'", "Thread.main.kill"].each do |ending|
    test "#{ending} in mid-run ends the process at once" do
      result = run_child(<<~RUBY)
        #{PRELUDE}
        $stderr.reopen(File::NULL)
        proxy = streamer.start
        push = Godwit::PUSH.connect("inproc://front", linger: 0)
        pull = Godwit::PULL.connect("inproc://back", linger: 0)
        Thread.new { loop { push.send("x") } }
        Thread.new { loop { pull.recv } }
        Thread.pass until proxy.statistics.backend.sent > 1000
        puts "ready"
        #{ending}
      RUBY
      refute result.timed_out, result.to_s
      refute result.status.signaled?, result.to_s
      assert_includes result.stdout, "ready"
    end
  end
end
