# frozen_string_literal: true

require "test_helper"
require_relative "forking"

# Godwit.after_fork, and two calls that open new sockets in a forked child: Godwit.socket and
# Godwit::Pool.
class AfterForkTest < Godwit::TestCase
  include Godwit::TestSupport::Forking

  test "blocks run in each child, in order, also in children of children and after one raises" do
    result = assert_done <<~RUBY
      order = []
      Godwit.after_fork { order << Process.pid }
      Godwit.after_fork { raise KeyError, "no such thing" }
      Godwit.after_fork { require "no such thing" }
      Godwit.after_fork { order << :last }
      in_child do
        raise order.inspect unless order == [Process.pid, :last]
        in_child { order.size == 4 && order.last(2) == [Process.pid, :last] }
        true
      end
      reader = IO.popen("-") or (puts order.inspect) || exit!
      abort reader.read unless reader.read.end_with?(", :last]\\n")
      system("true")
      abort unless order.empty?
    RUBY
    assert_equal 6, result.stderr.scan(/Godwit.after_fork: a block raised: .*no such thing/).size
  end

  test "a lazy socket opens again in a child that uses it, while threads of the parent use it" do
    assert_done <<~RUBY
      pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
      opened = 0
      push = Godwit.socket { (opened += 1) && Godwit::PUSH.connect(pull.last_endpoint) }
      unused = Godwit.socket { raise "nobody uses it" }
      closed = Godwit.socket { raise }.tap(&:close)
      push << "parent"
      parents = push.socket
      gate = Thread::Queue.new
      opening = Godwit.socket { gate.pop && Godwit::PUSH.connect(pull.last_endpoint) }
      thread = Thread.new { opening << "late" }
      await { gate.num_waiting == 1 } # the thread holds the lock of `opening`
      in_child do
        gate << true
        [opening, push].each { |one| one << "child" }
        raise "not a new one" if push.socket.equal?(parents) || opened != 2
        forked { parents << "x" }
        begin
          closed << "x"
        rescue Godwit::ClosedError
          in_child { (push << "grandchild") && Godwit.context.close.nil? }
        end
        push.close
        in_child { push.closed? && !push.opened? }
        Godwit.context.close # waits until libzmq has sent all messages
        true
      end
      abort unless push.socket.equal?(parents) && !unused.opened?
      gate << true
      thread.join
      got = Array.new(5) { pull.recv(timeout: 5) }.sort
      abort got.inspect unless got == %w[child child grandchild late parent]
    RUBY
  end

  test "a pool begins anew in a child; a block that forked gives the socket back to the parent" do
    assert_done <<~RUBY
      rep = Godwit::REP.bind("tcp://127.0.0.1:*")
      Thread.new { rep.serve { |message| message } }
      pool = Godwit::Pool.new(size: 1) { Godwit::REQ.connect(rep.last_endpoint) }
      closed = Godwit::Pool.new { raise }.tap(&:close)
      parents = pool.with { |req| req.request("first") && req }
      pool.with do |req|
        in_child do
          check = pool.with { |own| own.request("child", timeout: 5) unless own.equal?(req) }
          check == "child" && pool.available == 1 && closed.closed?
        end
        pid = fork { req.forked? or abort } # the child exits within the block of `with`
        Process.wait(pid)
        abort unless $?.success?
      end
      leaving = pool.with { fork } # the child leaves the block with the parent's socket
      exit!(pool.with { |own| own.request("left", timeout: 5) } == "left" ? 0 : 1) unless leaving
      Process.wait(leaving)
      abort unless $?.success?
      abort unless pool.with { |req| req.equal?(parents) && req.request("last") == "last" }
    RUBY
  end
end
