# frozen_string_literal: true

require "test_helper"
require "support/draft_pairs"

# How thread-safe types wait over FFI (ADR 14). The stage "ffi draft" runs it with drafts;
# native/draft_waits_test holds on both backends.
class FFIDraftWaitsTest < Godwit::TestCase
  include DraftPairs

  if Godwit::BACKEND == :ffi && Godwit.has?(:draft)
    # Prolongs the moment before the signal is read, so that the message arrives then.
    WIDENED = <<~RUBY
      require "godwit"
      Godwit::Backend::FFI::SocketHandle.prepend(Module.new do
        def take_signal
          Kernel.sleep(0.0005) if Thread.current[:widened]
          super
        end
      end)
      server = Godwit::SERVER.bind("tcp://127.0.0.1:*")
      client = Godwit::CLIENT.connect(server.last_endpoint) << "x"
      id, = server.recv_from
      Thread.current[:widened] = true
    RUBY

    %i[recv wait_readable].each do |way|
      test "a message that arrives between the try and the wait ends the wait (#{way})" do
        assert_child run_child("#{WIDENED}\n#{<<~RUBY}", deadline: 30)
          200.times do
            server.send("x", routing_id: id)
            client.wait_readable(5) or abort "nothing came" if #{way == :wait_readable}
            client.recv(timeout: 5)
          end
        RUBY
      end
    end

    test "the end of a socket that others wait on leaves neither poller nor signaler behind" do
      count = -> { Dir.children("/proc/self/fd").size }
      server_and_client.each { |one| one.close if one.is_a?(Godwit::Socket) }
      before = count.call
      60.times do
        client = open_socket(:CLIENT)
        waiting = Array.new(3) { in_thread { client.recv(timeout: 5) } }
        until_waiting(client, 3)
        client.close
        waiting.each { |thread| assert_raises(Godwit::ClosedError) { thread.value } }
      end
      # libzmq's reaper closes later
      eventually("descriptors are left") { count.call < before + 30 }
      assert_operator count.call, :<, before + 30
    end

    test "a String that is sent to a routing id leaves nothing of its message behind" do
      server = Godwit::SERVER.bind("tcp://127.0.0.1:*", context: context)
      own(server)
      client = own(Godwit::CLIENT.connect(server.last_endpoint, context: context)) << "x"
      id, = server.recv_from(timeout: 5)
      made = 0
      Godwit::Backend::FFI::FrameHandle.stub(:new, ->(*) { made += 1 }) do
        20.times { server.send("y" * 1000, routing_id: id) }
      end
      assert_equal 0, made, "messages that are never freed"
      assert_equal "y" * 1000, client.recv(timeout: 5)
    end

    test "a context that is shut down refuses new sockets, and open sockets raise" do
      own_context = own(Godwit::Context.new)
      client = own(Godwit::CLIENT.new(context: own_context))
      own_context.shutdown
      assert_raises(Godwit::ContextTerminatedError) { Godwit::SERVER.new(context: own_context) }
      assert_raises(Godwit::ContextTerminatedError) { client.recv(timeout: 1) }
    end
  elsif Godwit::BACKEND == :ffi
    test "without drafts none of their functions is found, and the primitives say so" do
      pair = open_socket(:PAIR)
      {_set_group: ["a", true], _connect_peer: ["tcp://127.0.0.1:9"]}.each do |name, arguments|
        assert_raises(Godwit::UnsupportedError, name) { pair.__send__(name, *arguments) }
      end
      assert_raises(Godwit::UnsupportedError) { pair.__send__(:_send_to, "x", 1, 0, nil) }
      assert_equal [false, [], nil, nil],
        [
          Godwit::Backend::FFI.draft?, Godwit::Backend::FFI::Drafts::FOUND,
          *Godwit::Frame.new("x").then { |frame| [frame.group, frame.routing_id] }
        ]
      assert_raises(Godwit::UnsupportedError) { pair.monitor.pipes_stats }
    end
  end
end
