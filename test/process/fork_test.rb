# frozen_string_literal: true

# libzmq: test_fork

require "test_helper"
require_relative "forking"

# A forked child does not affect the sockets of its parent (law 7).
class ForkTest < Godwit::TestCase
  include Godwit::TestSupport::Forking

  test "a child, and its child, that ends in any manner does not disturb its parent" do
    assert_done <<~RUBY
      pull, push = pair
      {
        exit: -> { exit(0) }, exit!: -> { exit!(0) }, abort: -> { abort }, raise: -> { raise "oh" },
        exec: -> { exec("true") }, kill: -> { Process.kill(:KILL, Process.pid) }
      }.each do |name, ending|
        check(pull, push)
        pid = fork do
          $stderr.reopen(File::NULL)
          check(*own = pair) if name != :exec
          in_child { check(*pair) } && check(*own) if name == :exit
          ending.call
        end
        Process.wait(pid)
        100.times { check(pull, push) }
      end
    RUBY
  end

  test "Process.daemon: the daemon starts with a new context" do
    assert_done <<~RUBY
      pull, push = pair
      reader, writer = IO.pipe
      pid = fork do
        Process.daemon(true, true)
        forked { push.send("x") }
        check(*pair)
        writer.write("well")
      end
      writer.close
      abort "the daemon failed" unless reader.read == "well"
      Process.wait(pid)
      check(pull, push)
    RUBY
  end
end
