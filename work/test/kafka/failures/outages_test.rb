# frozen_string_literal: true

require "support/kafka_failures"

# The broker ends or hangs while consumers and producers work.
class WorkKafkaOutagesTest < Godwit::KafkaFailureCase
  AWAY = LONG ? 60 : 20 # seconds
  FROZEN = 20

  def work(**producer)
    consume_by(3)
    produce(**producer)
    handled(300)
    look
  end

  def goes_on
    handled(300)
    look
    balance
    stop_consuming
  end

  test "the broker is away for a while" do
    work
    broker.kill
    sleep AWAY # the failure itself
    broker.start
    goes_on
  end

  # Records whose time is over while the broker hangs: see the limits in work/docs/kafka.md.
  test "the broker is stopped by SIGSTOP for 20 s" do
    work(timeout: 60)
    broker.freeze
    sleep FROZEN # the failure itself
    broker.thaw
    goes_on
  end
end
