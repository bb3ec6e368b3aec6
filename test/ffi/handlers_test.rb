# frozen_string_literal: true

require "test_helper"

# A trap handler that interrupts a call on a poller while that call holds the poller's lock.
class FFIHandlersTest < Godwit::TestCase
  PRELUDE = <<~RUBY
    require "godwit"
    def internal(object, *names)
      names.reduce(object) { |one, name| one.instance_variable_get(name) }
    end
    # Runs a trap handler before the next call of the method.
    def handle_before(object, name, &handler)
      trap(:USR1, &handler)
      object.define_singleton_method(name) do |*arguments|
        singleton_class.remove_method(name)
        Process.kill(:USR1, Process.pid)
        super(*arguments)
      end
    end
  RUBY

  test "stop and post work on a loop" do
    not_on :jruby, "its handlers run in another thread"
    assert_done <<~RUBY
      loop = Godwit::Loop.new
      posted = false
      handle_before(internal(loop, :@poller, :@handle), :check) do
        loop.post { posted = true }
      end
      internal(loop, :@poller, :@handle).locked { internal(loop, :@poller, :@handle).check }
      loop.run
      abort "not posted" unless posted
      handle_before(internal(loop, :@poller, :@handle, :@queue), :spare) { loop.stop }
      abort "not stopped" unless loop.run(forever: true) == :stopped
    RUBY
  end

  test "modify ends the wait that is about to begin" do
    not_on :jruby, "its handlers run in another thread"
    assert_done <<~RUBY, deadline: 30
      dealer = Godwit::DEALER.bind("inproc://a")
      Godwit::DEALER.connect("inproc://a")
      poller = Godwit::Poller.new
      poller.register(dealer, :readable)
      3.times { poller.wait(0) } # until no edge is left, which would end the wait too
      handle_before(internal(poller, :@handle, :@queue), :spare) do
        poller.modify(dealer, :writable)
      end
      poller.wait
    RUBY
  end
end
