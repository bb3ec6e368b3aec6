# frozen_string_literal: true

require "support/kafka_failures"

# The broker ends or hangs while consumers and producers work.
class WorkKafkaOutagesTest < Godwit::KafkaFailureCase
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
end
