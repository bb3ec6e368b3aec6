# frozen_string_literal: true

# libzmq: test_fork

require "test_helper"
require_relative "forking"

# In a forked child each call on an inherited object raises ForkedError, the garbage collector does
# not close the object, and new objects work. The parent's objects still work too (law 7).
class InheritedTest < Godwit::TestCase
  include Godwit::TestSupport::Forking

  PRELUDE = Godwit::TestSupport::Forking::PRELUDE + <<~RUBY
    pull, push = pair
    $context = Godwit.context
  RUBY

  # name => [code that makes the objects, the calls, code that checks that the objects work]
  OBJECTS = {
    "socket or context" => [<<~RUBY, <<~CALLS, "check(pull, push)"],
      pub = Godwit::PUB.bind("tcp://127.0.0.1:*")
      context = Godwit.context
    RUBY
      pull.recv; pull.recv(timeout: 1); pull.recv_many; pull.recv_into(+""); pull.recv_nonblock
      pull.wait_readable(0); pull.events; pull.each {}; push.send("x"); push << "x"
      push.send_many(["x"]); push.send_nonblock("x"); push.wait_writable; pub.wait_connected
      pull.bind("tcp://127.0.0.1:*"); push.connect("tcp://127.0.0.1:1"); push.linger
      pull.unbind(pull.last_endpoint); push.linger = 1; push.zmq_fd; push.pointer
      push.send(Godwit::Frame.new("x")); push.send_frame("x"); pull.recv_frame; pull.recv_frames
      pull.recv_message; pull.monitor; pull.on_event {}; Godwit::Poller.new(pull); pull.close
      context.shutdown; context.max_sockets; Godwit::REQ.new(context: context); context.close
    CALLS
    "poller" => [<<~RUBY, <<~CALLS, <<~WORKS],
      out, into = IO.pipe
      poller = Godwit::Poller.new(pull, out)
    RUBY
      poller.wait; poller.wait(0); poller.register(into, :writable); poller.modify(out, :readable)
      poller.remove(out); poller.events(out); poller.size; poller.to_a; poller.close
    CALLS
      push.send("x")
      abort "the poller was disturbed" unless poller.wait(5).map(&:object) == [pull]
      pull.recv
      abort "too much" unless poller.wait(0).empty?
    WORKS
    "loop" => [<<~RUBY, <<~CALLS, <<~WORKS],
      loop = Godwit::Loop.new
      got = nil
      loop.readable(pull) { |socket| (got = socket.recv) && loop.stop }
    RUBY
      loop.run; loop.readable(push) {}; loop.writable(push) {}; loop.remove(pull)
      loop.after(1) {}; loop.every(1) {}; loop.post {}; loop.stop; loop.close
    CALLS
      push.send("x")
      late = loop.after(20) { abort "nothing came" }
      abort "the loop was disturbed" unless loop.run == :stopped && got == "x"
      late.cancel
    WORKS
    "proxy" => [<<~RUBY, <<~CALLS, <<~WORKS],
      proxy = Godwit::Proxy.streamer("inproc://front", "inproc://back", linger: 0).start
    RUBY
      proxy.start; proxy.run; proxy.stop; proxy.pause; proxy.resume; proxy.statistics
      proxy.paused?; proxy.frontend.recv; proxy.close
    CALLS
      Godwit::PUSH.connect("inproc://front") { |one| one.send("x") }
      got = Godwit::PULL.connect("inproc://back") { |one| one.recv(timeout: 5) }
      abort "lost" unless got == "x"
    WORKS
    "monitor" => [<<~RUBY, <<~CALLS, <<~WORKS]
      monitor, other = Array.new(2) { pull.monitor(:listening) }
    RUBY
      monitor.next_event; monitor.next_event(timeout: 1); monitor.recv_nonblock; monitor.each {}
      monitor.pipes_stats; monitor.close
    CALLS
      pull.bind("tcp://127.0.0.1:*")
      abort "no event" unless monitor.next_event(timeout: 5).endpoint == pull.last_endpoint
    WORKS
  }.freeze

  OBJECTS.each do |name, (made, calls, works)|
    test "an inherited #{name}" do
      assert_done <<~RUBY
        #{made}
        works = -> { #{works} }
        works.call
        5.times do
          in_child do
            #{calls.split(/;|\n/).map { |call| "forked { #{call} }" }.join("\n")}
            ObjectSpace.each_object(Godwit::Socket, &:inspect)
            abort "the default context is the parent's" if Godwit.context.equal?($context)
            pull, push = pair
            #{made}
            works.call
            3.times { GC.start; GC.compact }
            works.call
            true
          end
          works.call
        end
      RUBY
    end
  end
end
