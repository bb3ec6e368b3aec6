# frozen_string_literal: true

require "test_helper"

# A socket that is being made while its context closes.
class FFIMakingTest < Godwit::TestCase
  PROGRAM = <<~RUBY
    require "godwit"
    context = Godwit::Context.new(linger: 0)
    zmq = Godwit::Backend::FFI::Zmq
    real = zmq.method(:zmq_socket)
    closing = nil
    zmq.define_singleton_method(:zmq_socket) do |*arguments|
      context.shutdown # so that libzmq makes none
      closing = Thread.new { context.close }
      Thread.pass until context.closed? # and waits for the lock of the socket that is being made
      real.call(*arguments)
    end
    begin
      context.socket(:PULL)
    rescue Godwit::ContextTerminatedError
      puts "refused"
    end
    puts "done" if closing.join(20)
  RUBY

  # The context closed a socket that was never made, and counted it twice: Java and Ruby crashed.
  test "the context does not close a socket that libzmq refuses to make just then" do
    result = assert_child(run_child(PROGRAM, gems: true, env: {"GODWIT_BACKEND" => "ffi"}))
    assert_equal "refused\ndone\n", result.stdout
  end
end
