# frozen_string_literal: true

require "test_helper"
require "support/draft_pairs"
require_relative "counting"
require_relative "shim/shim"

# Thread-safe socket types wait on a libzmq poller (ADR 14). The stage `draft` has these types.
class NativeDraftWaitsTest < Godwit::TestCase
  include DraftPairs
  include Godwit::TestSupport::Counting

  if Godwit.has?(:draft)
    test "a call of events swallows no wake-up of a waiter" do
      server, client, id = server_and_client
      got = Queue.new
      in_thread { 300.times { got << client.recv } }
      300.times do |i|
        server.send(i.to_s, routing_id: id)
        eventually { client.events && got.size > i }
      end
      assert_equal 300, got.size
    end

    # The shim delays the wait, so that libzmq's thread brings the message before the wait begins.
    %i[recv wait_readable].each do |way|
      test "a message that arrives between the try and the wait ends the wait (#{way})" do
        env = {"LD_LIBRARY_PATH" => ENV["LD_LIBRARY_PATH"],
               **Godwit::TestSupport::Shim.windows(after: 300)}
        assert_child run_child(<<~RUBY, env: env, deadline: 20)
          require "godwit"
          server = Godwit::SERVER.bind("tcp://127.0.0.1:*")
          client = Godwit::CLIENT.connect(server.last_endpoint) << "x"
          id, = server.recv_from
          200.times do
            server.send("x", routing_id: id)
            client.wait_readable(5) or abort "nothing came" if #{way == :wait_readable}
            client.recv(timeout: 5)
          end
        RUBY
      end
    end

    test "sockets leave no descriptor behind" do
      open = -> { server_and_client.first(2).each(&:close) }
      open.call
      before = descriptors
      20.times { open.call }
      # GC closes the IOs of epoll descriptors, and libzmq's reaper thread closes the sockets.
      assert(eventually("descriptors are left") { GC.start || descriptors <= before + 8 })
    end
  end
end
