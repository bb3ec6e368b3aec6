# frozen_string_literal: true

# libzmq: test_fork

require "test_helper"
require_relative "forking"

# A forked child never touches inherited objects, and the parent never notices the child (law 7).
class ForkTest < Godwit::TestCase
  include Godwit::TestSupport::Forking

  %w[exit exit! abort raise exec kill].each do |ending|
    test "a child that ends by #{ending} does not disturb the parent" do
      assert_done <<~RUBY
        pull, push = pair
        check(pull, push)
        pid = fork do
          $stderr.reopen(File::NULL)
          check(*pair) if #{ending != "exec"}
          case #{ending.inspect}
          when "exit" then exit(0)
          when "exit!" then exit!(0)
          when "abort" then abort
          when "raise" then raise "oh"
          when "exec" then exec("true")
          when "kill" then Process.kill(:KILL, Process.pid)
          end
        end
        Process.wait(pid)
        100.times { check(pull, push) }
      RUBY
    end
  end

  test "fork in a loop, each child with its own sockets, and children of children" do
    assert_done <<~RUBY
      pull, push = pair
      30.times do
        in_child do
          check(*pair)
          in_child { check(*pair) }
          check(*pair)
        end
        check(pull, push)
      end
    RUBY
  end

  test "a child that exits normally delivers its messages, within linger" do
    assert_done <<~RUBY
      pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
      pid = fork do
        push = Godwit::PUSH.connect(pull.endpoints.first)
        1000.times { |number| push.send(number.to_s) }
      end
      1000.times { |number| abort number.to_s unless pull.recv(timeout: 5) == number.to_s }
      Process.wait(pid)
      abort "\#{$?}" unless $?.success?
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

  test "system, spawn and popen leave everything as it is" do
    assert_done <<~RUBY
      pull, push = pair
      20.times do
        system("true") or abort
        Process.wait(spawn("true"))
        abort unless IO.popen("echo hi", &:read) == "hi\\n"
        check(pull, push)
      end
    RUBY
  end
end
