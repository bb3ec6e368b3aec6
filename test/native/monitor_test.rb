# frozen_string_literal: true

require "test_helper"
require_relative "counting"
require "socket"

# Monitors that no thread reads, that are dropped, or whose readers are killed.
class NativeMonitorTest < Godwit::TestCase
  include Godwit::TestSupport::Counting

  CHURN = 4_000 # connections; three events each

  # With libzmq's own limit its I/O thread would wait at the 1,000th unread event, and each bind and
  # close would wait for that thread.
  test "12,000 unread events stop neither the socket nor the context" do
    pull = open_socket(:PULL, backlog: CHURN)
    monitor = pull.monitor(limit: 100)
    pull.bind(endpoint_for(:tcp))
    churn(pull, CHURN)
    push = open_socket(:PUSH).connect(pull.last_endpoint)
    push.send("still here")
    assert_equal "still here", pull.recv(timeout: 5)
    pull.bind(endpoint_for(:tcp))
    assert_equal pull.endpoints.last, pull.last_endpoint
    pull.close
    assert_equal 100, monitor.count
    assert_operator monitor.dropped, :>, 3 * CHURN - 200
  end

  # libzmq's queue of events has no limit, so waits and calls of the socket drain it each 10 ms.
  test "waits and messages empty libzmq's queue, without a reader of the monitor" do
    pull = open_socket(:PULL)
    monitor = pull.monitor(limit: 10)
    pull.bind(endpoint_for(:tcp))
    churn(pull, 20)
    eventually { pull.recv(timeout: 0.02, exception: false) || monitor.dropped > 40 }
    before = monitor.dropped
    churn(pull, 20)
    push = open_socket(:PUSH).connect(pull.last_endpoint)
    assert(eventually do
      200.times { push << "x" }
      200.times { pull.recv } # each 128th call drains the queue, at most each 10 ms
      monitor.dropped > before + 40
    end)
  end

  test "a dropped monitor is collected, and libzmq reports no more; the socket stays usable" do
    pull = open_socket(:PULL, count_peers: false).bind(endpoint_for(:tcp))
    before = descriptors
    in_thread { 20.times { pull.monitor.recv_nonblock(exception: false) } }.join
    assert_operator descriptors, :>, before
    eventually("#{descriptors - before} descriptors are left") do
      GC.start
      descriptors <= before && monitors_of(pull).zero?
    end
    kept = pull.monitor
    churn(pull, 1)
    assert_equal :accepted, kept.next_event(timeout: 5).name
  end

  # A thread that drains the queue, such as a killed reader or a bind, consumes the edge that other
  # readers wait for.
  test "a drain that takes the edge of other readers wakes them" do
    300.times do
      pull = open_socket(:PULL)
      monitor = pull.monitor(:listening)
      others = Array.new(2) { pull.monitor(:listening) }
      waiting = others.map { |other| in_thread { other.next_event } }
      until_waiting(pull, 2)
      killed = in_thread { monitor.next_event }
      pull.bind(endpoint_for(:inproc), endpoint_for(:tcp))
      killed.kill
      waiting.each { |thread| assert_equal pull.last_endpoint, thread.join(5)&.value&.endpoint }
      pull.close
    end
  end

  test "without descriptors a monitor raises, and works again when there are some" do
    assert_child(run_child(<<~RUBY))
      require "godwit"
      pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
      files = take_descriptors(64)
      begin
        pull.monitor
        abort "it opened"
      rescue Godwit::TooManySocketsError => error
        abort error.message unless error.operation == :monitor
      end
      files.each(&:close)
      monitor = pull.monitor
      pull.bind("tcp://127.0.0.1:*")
      exit!(monitor.next_event(timeout: 5).name == :listening)
    RUBY
  end

  private

  # Connects and disconnects `count` TCP clients.
  def churn(socket, count)
    count.times { TCPSocket.new("127.0.0.1", socket.port).close }
  end

  def monitors_of(socket)
    ObjectSpace.each_object(Godwit::Monitor).count { |monitor| monitor.socket.equal?(socket) }
  end
end
