# frozen_string_literal: true

require "timeout"
require_relative "ffi_rzmq_case"
require "godwit/compat/ffi_rzmq"
require "ffi-rzmq"

# Every call of the door that waits ends at once on all that shall end it: none is a blocking call of libzmq's.
class FFIRzmqWaitsTest < FFIRzmqCase
  AT_ONCE = 0.1 # seconds; beside other work on the machine a few tries are given

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
    "a long RCVTIMEO" => [:PULL, ->(socket) { socket.setsockopt(ZMQ::RCVTIMEO, 60_000) + socket.recv_string(+"") }],
    "poll" => [:PULL, ->(socket) { ZMQ::Poller.new.tap { |poller| poller.register_readable(socket) }.poll }],
    "Device.new" => [:PULL, ->(socket) { ZMQ::Device.new(socket, @back) && -1 }]
  }.freeze

  def teardown
    @old&.terminate
    super
  end

  CALLS.each_key do |name|
    test "#{name} ends on Thread#kill" do
      at_once do
        _, thread = waiting(name)
        seconds { thread.kill.join }
      end
    end

    test "#{name} ends on Timeout" do
      at_once do
        socket, call = prepare(name)
        seconds { assert_raises(Timeout::Error) { Timeout.timeout(0.01) { instance_exec(socket, &call) } } }
      end
    end

    test "#{name} ends when the socket is closed" do
      at_once do
        socket, thread = waiting(name)
        seconds do
          socket.close
          assert_equal [-1, ZMQ::ENOTSOCK], thread.value
        end
      end
    end

    test "#{name} ends when the context is terminated" do
      at_once do
        _, thread = waiting(name)
        seconds do
          assert_equal 0, @old.terminate
          assert_equal [-1, ZMQ::ETERM], thread.value
        end
      end
    end

    test "#{name} ends on Ctrl-C" do
      not_on :jruby, "it raises no Interrupt on Ctrl-C"
      type, = CALLS.fetch(name)
      program = <<~RUBY
        require "ffi-rzmq"
        $stdout.sync = true
        @context = ZMQ::Context.new
        @back = @context.socket(ZMQ::PUSH)
        call = #{source_of(name)}
        socket = @context.socket(ZMQ::#{type})
        socket.bind("tcp://127.0.0.1:*")
        main = Thread.current
        Thread.new { Thread.pass until main.status == "sleep"; puts "ready" }
        begin
          call.call(socket)
          abort "it returned"
        rescue Interrupt
          puts "interrupted", socket.close, @context.terminate
        end
      RUBY
      child = start_old(program, on: Godwit::BACKEND)
      child.wait_for(/^ready$/).signal(:INT)
      assert_equal "ready\ninterrupted\n0\n0\n", assert_child(child.finish).stdout
    end
  end

  test "other threads run while one waits" do
    socket, thread = waiting("recv_string")
    push = @old.socket(ZMQ::PUSH)
    push.connect(socket.godwit.last_endpoint)
    push.send_string("here")
    assert_equal 4, thread.value.first
  end

  private

  def source_of(name)
    File.read(__FILE__)[/^    #{Regexp.escape(name.inspect)} => \[:\w+, (->.*?)\],?$/, 1]
  end

  def prepare(name)
    type, call = CALLS.fetch(name)
    @old = ZMQ::Context.new
    @back = @old.socket(ZMQ::PUSH)
    socket = @old.socket(ZMQ.const_get(type))
    assert_equal 0, socket.bind("tcp://127.0.0.1:*")
    [socket, call]
  end

  # @return [Array(ZMQ::Socket, Thread)] whose value will be what the call gave, and errno
  def waiting(name)
    socket, call = prepare(name)
    thread = in_thread { [instance_exec(socket, &call), ZMQ::Util.errno] }
    until_asleep(thread)
    [socket, thread]
  end

  def at_once
    assert_within(AT_ONCE) { yield.tap { @old.terminate } }
  end
end
