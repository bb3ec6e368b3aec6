# frozen_string_literal: true

require_relative "ffi_rzmq_case"

# A child process neither uses nor closes its parent's sockets.
class FFIRzmqForkTest < FFIRzmqCase
  PROGRAM = <<~RUBY
    require "ffi-rzmq"
    context = ZMQ::Context.new
    pull = context.socket(ZMQ::PULL)
    push = context.socket(ZMQ::PUSH)
    pull.bind("tcp://127.0.0.1:*")
    pull.getsockopt(ZMQ::LAST_ENDPOINT, endpoint = [])
    push.connect(endpoint.first.delete("\\0"))
    push.send_string("before")
    pid = fork do
      p [pull.recv_string(+"", ZMQ::DONTWAIT), ZMQ::Util.errno == ZMQ::ENOTSOCK]
      p [
          push.send_string("x"),
          push.send_string("x", ZMQ::SNDMORE),
          push.setsockopt(ZMQ::LINGER, 0)
        ]
      p [pull.close, push.close, context.terminate, context.socket(ZMQ::REQ)]
      own = ZMQ::Context.new
      one, two = own.socket(ZMQ::PAIR), own.socket(ZMQ::PAIR)
      one.bind("inproc://own")
      two.connect("inproc://own")
      two.send_string("mine")
      one.recv_string(text = +"")
      p [text, one.close, two.close, own.terminate]
    end
    Process.wait(pid)
    push.send_string("after")
    texts = Array.new(2) { pull.recv_string(text = +"") && text }
    p texts, $?.success?, pull.close, push.close, context.terminate
  RUBY

  test "a child leaves its parent's sockets alone" do
    result = assert_child(run_old(PROGRAM, on: Godwit::BACKEND))
    assert_equal [
      "[-1, true]", "[-1, -1, -1]", "[0, 0, 0, nil]", '["mine", 0, 0, 0]', '["before", "after"]',
      "true", "0", "0", "0"
    ], result.stdout.lines(chomp: true)
    assert_empty result.stderr
  end
end
