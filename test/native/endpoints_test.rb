# frozen_string_literal: true

require "test_helper"

# No lock protects a socket's Ruby state, such as its endpoints. Another thread may run after any
# method, also after a method written in C.
class NativeEndpointsTest < Godwit::TestCase
  # Method that `unbind` calls => what another thread does as soon as that method has returned.
  {select: :bind, "-": :bind, _unbind: :bind, reverse: :unbind}.each do |method, what|
    test "an endpoint changed by another thread at the end of #{method} during an unbind is kept " \
      "(#{what})" do
      pull = open_socket(:PULL).bind("inproc://old", "inproc://other")
      after(
        method, -> { (what == :bind) ? pull.bind("inproc://new") : pull.unbind("inproc://other") }
      ) { pull.unbind("inproc://old") }
      assert_equal((what == :bind) ? %w[inproc://other inproc://new] : [], pull.endpoints)
    end
  end

  test "endpoints that another thread binds during a bind are kept" do
    pull = open_socket(:PULL)
    after(:+, -> { pull.bind("inproc://new") }) { pull.bind("inproc://old") }
    assert_equal %w[inproc://new inproc://old], pull.endpoints.sort
  end

  test "an option that another thread sets meanwhile holds for the socket that REQ#request " \
    "recreates" do
    router = open_socket(:ROUTER).bind(endpoint_for(:inproc))
    req = open_socket(:REQ).connect(router.last_endpoint)
    after(:merge, -> { req.backlog = 7 }) { req.linger = 5 }
    assert_raises(Godwit::TimeoutError) { req.request("x", timeout: 0.01) }
    assert_raises(Godwit::TimeoutError) { req.request("x", timeout: 0.01) }
    assert_equal [5, 7], [req.linger, req.backlog]
  end

  private

  # Runs the block. When the method has returned once, another thread calls `what`.
  def after(method, what)
    once = [what]
    here = Thread.current
    trace = TracePoint.new(:c_return) do |point|
      if point.method_id == method && Thread.current == here && once.any?
        in_thread(&once.shift).join
      end
    end
    trace.enable { yield }
    assert_empty once
  end
end
