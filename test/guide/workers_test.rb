# frozen_string_literal: true

require_relative "guide_case"

# examples/guide/load_balancing and async_server.
class GuideWorkersTest < GuideCase
  test "load balancing: a slow worker delays no other request" do
    broker = example("load_balancing/broker", "tcp://127.0.0.1:*", "tcp://127.0.0.1:*")
    front, back = endpoints(broker)
    # The clients' requests wait until the first worker is ready.
    clients = %w[Ann Bob].to_h { |name| [name, example("load_balancing/client", front, 60, name)] }
    slow, quick = [0.3, 0].map { |work| example("load_balancing/worker", back, work) }

    clients.each do |name, client|
      assert_equal Array.new(60) { |number| "#{name.upcase} #{number}" }, lines(client)
    end
    # The quick worker may have handled all requests before the slow one has started.
    [slow, quick].each { |worker| worker.wait_for("ready") }
    done = [slow, quick].map { |worker| interrupt(worker).last[/\Adid (\d+) requests\z/, 1].to_i }
    assert_equal 120, done.sum
    assert_operator done.first, :<, done.last
    assert_equal "120 replies", interrupt(broker).last
  end

  test "asynchronous clients: each gets every part of every reply, in order within a request" do
    server = example("async_server/server", "tcp://127.0.0.1:*", 4)
    endpoint, = endpoints(server)
    clients = Array.new(3) { example("async_server/client", endpoint, 40, 0.001) }
    clients.each do |client|
      *parts, last = lines(client)
      expected =
        (1..40).to_h { |number| ["request #{number}", ["part 1/3", "part 2/3", "part 3/3"]] }
      assert_equal expected,
        parts
          .map { |line| line.split(": ") }
          .group_by(&:first)
          .transform_values { |pairs| pairs.map(&:last) }
      assert_equal "0 of 40 requests got no answer", last
    end
    assert_equal "120 requests, 360 replies", interrupt(server).last
  end
end
