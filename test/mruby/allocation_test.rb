# frozen_string_literal: true

require_relative "support/mruby_case"

# Fails the n-th allocation of a C primitive, for n from 1 until the primitive succeeds: no message
# is lost or doubled, nothing leaks, and the socket stays usable. The tests call no Ruby methods
# with blocks: if the copy of a block fails, the error escapes mrb_protect_error of mruby 3.1.
class MRubyAllocationTest < MRubyCase
  # `exhaust(name, check) { }` fails the block at each allocation, and calls `check` after each run.
  EXHAUST = <<~'RUBY'
    MOST = 500 # more allocations than any primitive makes
    # Blocks. The collector frees a page of cells only when all its cells are free.
    SLACK = 8

    def rounds(name, check, for_ever, primitive)
      (1..MOST).each do |n|
        failed, result = Host.fail(n, for_ever, &primitive)
        if result.is_a?(Exception)
          kinds = [NoMemoryError, SystemStackError, Errno::ENOMEM]
          check(kinds.any? { |kind| result.is_a?(kind) }, "#{name}, call #{n}: #{result.inspect}")
        end
        check.call(result)
        return n unless failed
      end
      raise "#{name} does not end"
    end

    def exhaust(name, check, &primitive)
      2.times do |run|
        [false, true].each { |for_ever| rounds(name, check, for_ever, primitive) }
        @blocks, @descriptors = Host.blocks, Host.descriptors if run == 0
      end
      check(Host.blocks <= @blocks + SLACK, "#{name}: #{Host.blocks - @blocks} blocks more")
      more = Host.descriptors - @descriptors
      check(more <= 4, "#{name}: #{more} descriptors more")
    end

    PULL = Godwit::PULL.bind("tcp://127.0.0.1:*", recv_hwm: 0)
    PUSH = Godwit::PUSH.connect(PULL.last_endpoint, send_hwm: 0)
    FLOWS = lambda do |_result|
      PUSH << "mark"
      nil until PULL.recv(timeout: 10) == "mark"
    end
    FLOWS.call(nil)
  RUBY

  def assert_exhausts(source) = assert_host(EXHAUST + source)

  test "sending" do
    assert_exhausts(<<~RUBY)
      message = ["a", "b", "c" * 5000]
      messages = [message] * 3
      exhaust("send", FLOWS) { PUSH._try_send("text") }
      exhaust("send", FLOWS) { PUSH._try_send(message) }
      exhaust("send_many", FLOWS) { PUSH._try_send_many(messages, 0) }
      exhaust("<<", FLOWS) { PUSH << message }
    RUBY
  end

  test "receiving loses no message and doubles none" do
    assert_exhausts(<<~RUBY)
      long = "c" * 5000
      received = 0
      sent = 0
      give = lambda do |count|
        count.times { PUSH << [(sent += 1).to_s, long, "x"] }
        nil until PULL.wait_readable(10)
      end
      take = lambda do |messages|
        messages.each do |number, middle, last|
          same((received += 1).to_s, number, "message")
          check(middle == long && last == "x", "wrong frames")
        end
      end
      one = lambda do |result|
        return unless result.is_a?(Array)
        take.call([result])
        give.call(1)
      end
      some = lambda do |result|
        take.call(result) if result.is_a?(Array)
        give.call(3) unless PULL.readable?
      end
      give.call(1)
      exhaust("recv", one) { PULL._try_recv }
      exhaust("recv", one) { PULL.recv }
      exhaust("recv_many", some) { PULL._try_recv_many(8) }
      exhaust("recv_many", some) { PULL.recv_many(8) }
      take.call([PULL.recv(timeout: 10)]) while received < sent
      same(nil, PULL.wait_readable(0.02), "one more message")
    RUBY
  end

  test "contexts and sockets: open, bind, connect" do
    assert_exhausts(<<~RUBY)
      context = Godwit::Context.default
      closing = lambda do |result|
        result.close if result.is_a?(Godwit::Socket) || result.is_a?(Godwit::Context)
        FLOWS.call(nil)
      end
      exhaust("context", closing) { Godwit::Context.allocate._open }
      exhaust("open", closing) { Godwit::PULL.allocate._open(context, 7, false) }
      socket = Godwit::DEALER.new(linger: 0)
      bound = "tcp://127.0.0.1:9"
      usable = ->(_result) { check(socket.send_hwm > 0, "unusable") }
      exhaust("reopen", usable) { socket._reopen }
      exhaust("bind", ->(result) { socket._unbind(result) if result.is_a?(String) }) do
        socket._bind("tcp://127.0.0.1:*")
      end
      exhaust("connect", usable) { socket._connect(bound) }
      again = ->(result) { socket._connect(bound) unless result.is_a?(Exception) }
      exhaust("disconnect", again) { socket._disconnect(bound) }
    RUBY
  end

  test "options, keys, waits" do
    assert_exhausts(<<~RUBY)
      socket = Godwit::SUB.bind("tcp://127.0.0.1:*")
      usable = ->(_result) { check(socket.recv_hwm > 0, "unusable") }
      exhaust("Integer", usable) { socket._get_option(24) } # ZMQ_RCVHWM
      exhaust("String", usable) { socket._get_option(32) } # ZMQ_LAST_ENDPOINT
      exhaust("Integer", usable) { socket._set_option(27, 5) } # ZMQ_RCVTIMEO
      exhaust("topic", usable) { socket._set_option(6, "topic") }
      exhaust("keys", usable) { Godwit::Backend::MRuby.curve_keypair(nil) } if Godwit.has?(:curve)
      exhaust("problem", usable) { Godwit::Backend::MRuby.descriptor_problem(0, true) }
      exhaust("events", FLOWS) { PULL._events }
      exhaust("wait", FLOWS) { PUSH._poll(2, 100) }
      exhaust("poll", FLOWS) { Godwit::Backend::MRuby.poll([PULL, 1, PUSH, 2, 0, 1], 100) }
    RUBY
  end
end
