# frozen_string_literal: true

require "test_helper"

# Signals, forks and exits in the middle of a proxy's run.
class ProxyProcessTest < Godwit::TestCase
  PRELUDE = <<~RUBY
    require "godwit"
    def streamer(&block)
      Godwit::Proxy.streamer("inproc://front", "inproc://back", linger: 0, &block)
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

  test "a child that ends within the block of a constructor leaves the proxy to its parent; an " \
    "exit while messages pass ends the process" do
    result = run_child(<<~RUBY)
      #{PRELUDE}
      streamer do |proxy|
        Process.wait(fork { exit(0) })
        abort unless $?.success? && proxy.running?
        push = Godwit::PUSH.connect("inproc://front", linger: 0)
        pull = Godwit::PULL.connect("inproc://back", linger: 0)
        Thread.new { loop { push.send("x") } }
        Thread.new { loop { pull.recv } }
        Thread.pass until proxy.statistics.backend.sent > 1000
        exit 7
      end
    RUBY
    assert_equal 7, result.status.exitstatus, result.to_s
  end
end
