# frozen_string_literal: true

require "test_helper"
require_relative "forking"

# A poller of a parent process whose forked children have copies of the poller's descriptors.
class PollerProcessTest < Godwit::TestCase
  include Godwit::TestSupport::Forking

  # epoll drops a file only when all processes have closed their descriptors; a child still has one.
  test "sockets and IOs that the parent closes while a child lives are gone from its poller" do
    assert_done <<~RUBY
      epolls = -> {
        Dir.each_child("/proc/self/fd").select do |fd|
          (File.readlink("/proc/self/fd/\#{fd}") rescue nil) == "anon_inode:[eventpoll]"
        end
      }
      first = pair # starts libzmq's threads, each with its own epoll
      libzmqs = epolls.call
      pull, push = pair
      out, into = IO.pipe
      poller = Godwit::Poller.new(pull, out)
      ready = lambda do |receiver, sender|
        sender.send("x")
        abort "the poller was disturbed" unless poller.wait(5).map(&:object) == [receiver]
        receiver.recv
        abort "too much" unless poller.wait(0).empty?
      end
      ours = epolls.call - libzmqs
      abort "not one epoll: \#{ours}" unless ours.size == 1
      watched = -> { File.read("/proc/self/fdinfo/\#{ours.first}").scan(/^tfd:/).size }
      gate, open_gate = IO.pipe
      children = []
      hold = -> { children << fork { open_gate.close; gate.read; exit!(0) } }
      hold.call
      into << "x"
      out.close
      poller.remove(out)
      ready.call(pull, push)
      kept = watched.call
      counts = Array.new(10) do
        extra = pair
        poller.register(extra.first)
        ready.call(*extra)
        hold.call
        extra.last.send("left")
        extra.first.wait_readable(5)
        extra.first.close
        poller.remove(extra.first)
        extra.last.close
        watched.call
      end
      abort "it keeps what was closed: \#{counts}" unless counts.uniq == [kept]
      before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      abort "what?" unless poller.wait(0.3).empty?
      abort "it spins" if Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before > 0.15
      ready.call(pull, push)
      open_gate.close
      children.each { |pid| Process.wait(pid) }
    RUBY
  end
end
