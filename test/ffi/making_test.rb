# frozen_string_literal: true

require "test_helper"

# A thread creates a socket while another thread closes the context.
class FFIMakingTest < Godwit::TestCase
  PROGRAM = <<~RUBY
    require "godwit"
    context = Godwit::Context.new(linger: 0)
    zmq = Godwit::Backend::FFI::Zmq
    real = zmq.method(:zmq_socket)
    closing = nil
    zmq.define_singleton_method(:zmq_socket) do |*arguments|
      context.shutdown # so that libzmq refuses the socket
      closing = Thread.new { context.close }
      Thread.pass until context.closed? # its close now waits for the lock of the new socket
      real.call(*arguments)
    end
    begin
      context.socket(:PULL)
    rescue Godwit::ContextTerminatedError
      puts "refused"
    end
    puts "done" if closing.join(20)
  RUBY

  # If the context closed a socket that libzmq refused to create, Java and Ruby would crash.
  test "the context does not close a socket that libzmq refuses meanwhile" do
    result = assert_child(run_child(PROGRAM, gems: true, env: {"GODWIT_BACKEND" => "ffi"}))
    assert_equal "refused\ndone\n", result.stdout
  end
end
