# frozen_string_literal: true

require "timeout"
require "support/endings"
require_relative "ffi_rzmq_case"
require "godwit/compat/ffi_rzmq"
require "ffi-rzmq"

# Kill, raise, Timeout, Ctrl-C, close and terminate end every waiting call. Each ending is tested on
# each kind of wait, and each call with one ending, which the seed chooses.
class FFIRzmqWaitsTest < FFIRzmqCase
  extend Godwit::TestSupport::Endings

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

  KINDS = %w[recv_string send_string poll Device.new].freeze
  # The object that the call makes and waits on.
  WAITED_ON = {"poll" => Godwit::Poller, "Device.new" => Godwit::Proxy}.freeze

  ending "ends on Thread#kill" do |name|
    _, thread = waiting(name)
    ended(thread.kill)
  end

  ending "ends on Timeout" do |name|
    socket, call = prepare(name)
    assert_raises(Timeout::Error) { Timeout.timeout(0.01) { instance_exec(socket, &call) } }
  end

  ending "ends when the socket is closed" do |name|
    socket, thread = waiting(name)
    socket.close
    assert_equal [-1, ZMQ::ENOTSOCK], ended(thread)
  end

  ending "ends when the context is terminated" do |name|
    _, thread = waiting(name)
    assert_equal 0, @old.terminate
    assert_equal [-1, ZMQ::ETERM], ended(thread)
  end

  ending "ends on Ctrl-C" do |name|
    not_on :jruby, "it raises no Interrupt on Ctrl-C"
    made = WAITED_ON.key?(name) ? "next_made(#{WAITED_ON[name]})" : "Queue.new << socket.godwit"
    child = start_old(<<~RUBY, on: Godwit::BACKEND)
      require "./test/support/child_prelude"
      require "ffi-rzmq"
      @context = ZMQ::Context.new
      @back = @context.socket(ZMQ::PUSH)
      call = #{source_of(name)}
      socket = @context.socket(ZMQ::#{CALLS.fetch(name).first})
      socket.bind("tcp://127.0.0.1:*")
      made = #{made}
      Thread.new { until_waiting(made.pop) && puts("ready") }
      begin
        call.call(socket)
        abort "it returned"
      rescue Interrupt
        puts "interrupted", socket.close, @context.terminate
      end
    RUBY
    child.wait_for(/^ready$/).signal(:INT)
    assert_equal "ready\ninterrupted\n0\n0\n", assert_child(child.finish).stdout
  end

  test_endings(CALLS.keys)

  def teardown
    @old&.terminate
    super
  end

  test "other threads run while one thread waits" do
    socket, thread = waiting("recv_string")
    push = @old.socket(ZMQ::PUSH)
    push.connect(socket.godwit.last_endpoint)
    push.send_string("here")
    assert_equal 4, thread.value.first
  end

  private

  def source_of(name)
    File.read(__FILE__)[/^    #{Regexp.escape(name.inspect)} => \[\s*:\w+,\s+(->.*?)\s*\],?$/m, 1]
  end

  def prepare(name)
    type, call = CALLS.fetch(name)
    @old = ZMQ::Context.new
    @back = @old.socket(ZMQ::PUSH)
    socket = @old.socket(ZMQ.const_get(type))
    assert_equal 0, socket.bind("tcp://127.0.0.1:*")
    [socket, call]
  end

  # @return [Array(ZMQ::Socket, Thread)] whose value will be the call's result and errno
  def waiting(name)
    socket, call = prepare(name)
    made = next_made(WAITED_ON.fetch(name)) if WAITED_ON.key?(name)
    thread = in_thread { [instance_exec(socket, &call), ZMQ::Util.errno] }
    until_waiting(made ? made.pop : socket.godwit)
    [socket, thread]
  end
end
