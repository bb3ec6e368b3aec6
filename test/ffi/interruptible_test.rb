# frozen_string_literal: true

require "test_helper"

# On JRuby a waiting thread does not use IO.select, which polls descriptors in threads of its own:
# after an interrupt such a thread could read from a descriptor that belongs to another object.
class FFIInterruptibleTest < Godwit::TestCase
  def setup
    super
    skip "of JRuby" unless RUBY_ENGINE == "jruby"
    require "jruby"
    @pull = open_socket(:PULL).bind(endpoint_for(:tcp))
  end

  # Waits until the thread is in a wait that an interrupt can end.
  # @return [Array<String>] the thread's Java stack
  def stack(thread)
    eventually do
      ::JRuby
        .reference(thread)
        .native_thread
        &.stack_trace
        .to_a
        .map(&:to_s)
        .then { |lines| lines if lines.grep(/executeTask/).any? }
    end
  end

  test "a waiting thread polls by itself, and is interrupted" do
    push = open_socket(:PUSH).bind(endpoint_for(:tcp))
    waits = {
      "recv" => -> { @pull.recv }, "a poller" => -> { open_poller(@pull).wait },
      "with a time-out" => -> { @pull.recv(timeout: 60) },
      "a proxy" => -> { Godwit::Proxy.new(@pull, push).run }
    }
    waits.each do |name, wait|
      waiting = in_thread(&wait)
      assert_empty stack(waiting).grep(/SelectExecutor/), name
      ended(waiting.kill)
    end
    open_socket(:PUSH).connect(@pull.last_endpoint).send("x")
    assert_equal "x", @pull.recv(timeout: 5)
  end

  test "a late wake-up of an earlier wait ends no wait" do
    waiter = Godwit::Backend::FFI::Waiter.claim(1)
    out, into = pipe
    waiter.wakeup(nil, nil)
    waiter.pause([out.fileno, 1], nil)
    waiter.release
    nil until waiter.equal?(Godwit::Backend::FFI::Waiter.claim(1))
    refute waiter.pause([out.fileno, 1], Process.clock_gettime(Process::CLOCK_MONOTONIC) + 0.01)
    into << "x"
    assert waiter.pause([out.fileno, 1], nil)
  end
end
