# frozen_string_literal: true

require "test_helper"
require_relative "forking"

# A loop and signals, fork and exit.
class LoopProcessTest < Godwit::TestCase
  include Godwit::TestSupport::Forking

  LOOP = <<~RUBY
    pull, push = pair
    log = []
    loop = Godwit::Loop.new
    loop.readable(pull) { |socket| log << socket.recv }
  RUBY

  test "a trap block stops the loop that waits, and posts to it; the rest is refused there" do
    assert_done <<~RUBY
      #{LOOP}
      20.times do
        trap(:USR1) { loop.stop }
        when_waiting(loop) { Process.kill(:USR1, Process.pid) }
        abort "not stopped" unless loop.run == :stopped
        trap(:USR1) { loop.post { |given| log << :posted; given.stop } }
        when_waiting(loop) { Process.kill(:USR1, Process.pid) }
        abort "not stopped" unless loop.run == :stopped
      end
      abort log.inspect unless log == [:posted] * 20

      timer = loop.after(1000) {}
      refused = []
      trap(:USR1) do
        calls = [-> { loop.readable(push) {} }, -> { loop.remove(pull) }, -> { loop.after(0) {} },
          -> { loop.every(1) {} }, -> { timer.cancel }, -> { timer.reset }]
        calls.each do |call|
          call.call
          refused << :done
        rescue Godwit::StateError => error
          refused << error.message[/post/]
        end
        loop.stop
      end
      when_waiting(loop) { Process.kill(:USR1, Process.pid) }
      abort "not stopped" unless loop.run == :stopped
      abort refused.inspect unless refused == ["post"] * 6
      push.send("x")
      loop.after(5) { abort "nothing came" }
      loop.every(0.001) { loop.stop if log.last == "x" }
      abort unless loop.run == :stopped
    RUBY
  end

  test "a trap block that posts while callbacks run is noticed" do
    assert_done <<~RUBY
      #{LOOP}
      trap(:USR1) { loop.post { log << :posted } }
      turns = 0
      loop.every(0) do
        Process.kill(:USR1, Process.pid) if (turns += 1) <= 500
        loop.stop if log.size >= 500
      end
      loop.run
      abort "\#{log.size} of 500" unless log.size == 500
    RUBY
  end

  test "a child that is forked in a callback cannot go on with its parent's loop, nor closes it" do
    assert_done <<~RUBY
      #{LOOP}
      parent = Process.pid
      child = nil
      begin
        ended = Godwit::Loop.run do |one|
          one.after(0) { child = fork }
          one.after(0.2) { one.stop }
        end
      rescue Godwit::ForkedError
        exit!(Process.pid == parent ? 5 : 0)
      end
      exit!(6) unless Process.pid == parent
      _, status = Process.wait2(child)
      abort "the child ended with \#{status}" unless status.success? && ended == :stopped

      child = Godwit::Loop.new { fork }
      exit!(0) unless child # in the child, the end of the block does not close the loop
      _, status = Process.wait2(child)
      abort "the second child ended with \#{status}" unless status.success?
    RUBY
  end
end
