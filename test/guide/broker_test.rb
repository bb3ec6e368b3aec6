# frozen_string_literal: true

require_relative "guide_case"

# examples/guide/request_reply and espresso. In both a proxy connects the other programs.
class GuideBrokerTest < GuideCase
  test "request-reply: each client gets each of its replies, whichever worker makes them" do
    broker = example("request_reply/broker", "tcp://127.0.0.1:*", "tcp://127.0.0.1:*")
    front, back = endpoints(broker)
    workers = Array.new(2) { example("request_reply/worker", back).wait_for("ready") }
    clients =
      %w[Ann Bob Cem].to_h { |name| [name, example("request_reply/client", front, 50, name)] }

    clients.each do |name, client|
      assert_equal Array.new(50) { |number| "hello #{name} #{number}" }, lines(client)
    end
    served = workers.map { |worker| interrupt(worker).last[/\Aserved (\d+) requests\z/, 1].to_i }
    assert_equal 150, served.sum
    assert_operator served.min, :>=, 1, "a worker got nothing"
    assert_equal "150 requests, 150 replies", interrupt(broker).last
  end

  {inproc: [], tcp: ["tcp://127.0.0.1:*"] * 3}.each do |transport, args|
    test "espresso over #{transport}: the listener sees subscriptions, messages and goodbyes, in " \
      "order" do
      said = lines(example("espresso", *args))
      messages = %w[A-0 B-1 A-5 B-6 A-10]
      assert_equal messages.map { |message| "subscriber: #{message}" }, said.grep(/\Asubscriber/)

      received = said.grep(/\Alistener/).map { |line| line.delete_prefix("listener:   ") }
      assert_equal ["subscription to A", "subscription to B"], received.first(2).sort
      assert_equal messages, received[2, 5]
      assert_equal ["end of the subscription to A", "end of the subscription to B"],
        received[7..].sort
      assert_equal "5 messages went through", said.last
    end
  end
end
