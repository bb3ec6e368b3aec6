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

  test "stop, pause and resume work in a trap block" do
    assert_done <<~RUBY
      proxy = streamer
      trap("USR1") { proxy.pause.resume.stop }
      when_waiting(proxy) { Process.kill(:USR1, Process.pid) }
      proxy.run
      abort if proxy.running? || proxy.paused?
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

  test "an exit in the middle of a run ends the process at once" do
    result = run_child(<<~RUBY)
      #{PRELUDE}
      proxy = streamer.start
      push = Godwit::PUSH.connect("inproc://front", linger: 0)
      pull = Godwit::PULL.connect("inproc://back", linger: 0)
      Thread.new { loop { push.send("x") } }
      Thread.new { loop { pull.recv } }
      Thread.pass until proxy.statistics.backend.sent > 1000
      exit 7
    RUBY
    assert_equal 7, result.status.exitstatus, result.to_s
  end
end
