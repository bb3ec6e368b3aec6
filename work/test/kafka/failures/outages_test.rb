# frozen_string_literal: true

require "support/kafka_failures"

# The broker ends or hangs while consumers and producers work.
class WorkKafkaOutagesTest < Godwit::KafkaFailureCase
  # Requests the positions of a group until a request succeeds, until one times out, until one
  # succeeds, and until one times out again.
  REQUESTS = <<~RUBY
    require "godwit/work"
    Godwit::Work.connect(ARGV[0], timeout: 2)
    def succeeds?
      Godwit::Work.client.engine.groups.committed("a group")
    rescue Godwit::Work::BrokerError
      false
    end
    [true, false, true, false].each do |wanted|
      nil until !succeeds? == !wanted
      puts wanted ? "succeeded" : "timed out"
      $stdout.flush
    end
    Godwit::Work.client.close
  RUBY

  # The failure => the method that begins it, its duration in seconds, the method that ends it, the
  # producer's settings. No record may time out while the broker hangs: see work/docs/kafka.md.
  {
    "is away for a while" => [:kill, LONG ? 60 : 20, :start, {}],
    "is stopped by SIGSTOP for 20 s" => [:freeze, 20, :thaw, {timeout: 60}]
  }.each do |what, (fail, seconds, recover, settings)|
    test "the broker #{what}" do
      consume_by(3)
      produce(**settings)
      handled(300)
      look
      broker.public_send(fail)
      sleep seconds # the duration of the failure
      broker.public_send(recover)
      handled(300)
      look
      balance
      stop_consuming
    end
  end

  # By librdkafka's own search for a group's broker, the process aborts when the broker is back, and
  # its client never closes while the broker is away.
  test "requests for a group time out while the broker is away, and the process goes on" do
    child = start_child(REQUESTS, [url]).wait_for(/^succeeded$/)
    broker.kill
    child.wait_for(/^timed out$/)
    broker.start
    child.wait_for(/^succeeded\n.*^succeeded$/m)
    broker.kill
    assert_child child.finish
  end
end
