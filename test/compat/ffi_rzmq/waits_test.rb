# frozen_string_literal: true

require_relative "ffi_rzmq_case"
require "godwit/compat/ffi_rzmq"
require "ffi-rzmq"

# What ends each waiting call, and what the call returns then.
class FFIRzmqWaitsTest < FFIRzmqCase
  CALLS = {
    "recv_string" => [:PULL, ->(socket) { socket.recv_string(+"") }],
    "recv_strings" => [:PULL, ->(socket) { socket.recv_strings([]) }],
    "recvmsg" => [:PULL, ->(socket) { socket.recvmsg(ZMQ::Message.new) }],
    "recvmsgs" => [:PULL, ->(socket) { socket.recvmsgs([]) }],
    "recv_multipart" => [:ROUTER, ->(socket) { socket.recv_multipart([], []) }],
    "send_string" => [:PUSH, ->(socket) { socket.send_string("x") }],
    "send_string of a first part" => [:PUSH, ->(socket) { socket.send_string("x", ZMQ::SNDMORE) }],
    "send_strings" => [:PUSH, ->(socket) { socket.send_strings(%w[x y]) }],
    "sendmsg" => [:PUSH, ->(socket) { socket.sendmsg(ZMQ::Message.new("x")) }],
    "sendmsgs" => [:PUSH, ->(socket) { socket.sendmsgs([ZMQ::Message.new("x")]) }],
    "a long RCVTIMEO" => [
      :PULL, ->(socket) { socket.setsockopt(ZMQ::RCVTIMEO, 60_000) + socket.recv_string(+"") }
    ],
    "poll" => [
      :PULL, ->(socket) { ZMQ::Poller.new.tap { |poller| poller.register_readable(socket) }.poll }
    ],
    "Device.new" => [:PULL, ->(socket) { ZMQ::Device.new(socket, @back) && -1 }]
  }.freeze

  # name => how the test ends the call, and what the call returns
  ENDINGS = {
    "its socket closes" => [->(_, socket) { socket.close }, [-1, ZMQ::ENOTSOCK]],
    "its context is terminated" => [->(*) { @old.terminate }, [-1, ZMQ::ETERM]],
    "an exception comes" => [->(thread, _) { thread.raise(Interrupt) }, Interrupt]
  }.freeze
  # Calls that create an object internally and wait on it => the class of that object.
  WAITED_ON = {"poll" => Godwit::Poller, "Device.new" => Godwit::Proxy}.freeze

  def teardown
    @old&.terminate
    super
  end

  CALLS.each do |name, (type, call)|
    ENDINGS.each do |sentence, (ending, result)|
      test "#{name} ends when #{sentence}" do
        @old = ZMQ::Context.new
        @back = @old.socket(ZMQ::PUSH)
        socket = @old.socket(ZMQ.const_get(type))
        assert_equal 0, socket.bind("tcp://127.0.0.1:*")
        made = next_made(WAITED_ON.fetch(name)) if WAITED_ON.key?(name)
        thread = in_thread do
          [instance_exec(socket, &call), ZMQ::Util.errno]
        rescue Interrupt => error
          error.class
        end
        until_waiting(made ? made.pop : socket.godwit)
        instance_exec(thread, socket, &ending)
        assert_equal result, ended(thread)
      end
    end
  end
end
