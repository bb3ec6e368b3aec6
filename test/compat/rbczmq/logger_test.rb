# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqLoggerTest < Godwit::RbczmqCase
  test "each line is a message" do
    push, pull = pair(:PUSH, :PULL)
    logger = ZMQ::Logger.new(push)
    assert_kind_of ::Logger, logger
    assert_equal true, logger.debug("first")
    logger.level = ::Logger::WARN
    logger.info("not this one")
    logger.error { "second" }
    logger << "raw"
    [/\AD, \[.*\] DEBUG -- : first\n\z/, /\AE, \[.*\] ERROR -- : second\n\z/, /\Araw\z/]
      .each { |line| assert_match line, pull.recv }
    assert_nil logger.close
    assert_equal true, push.send("the socket is its owner's")
  end

  test "PUB, PUSH and PAIR only; errors of the socket are raised" do
    assert_operator ZMQ::Logger::InvalidSocketError, :<, ZMQ::Error
    %i[SUB PULL REQ REP DEALER ROUTER XPUB XSUB STREAM].map { |type| ctx.socket(type) }
      .push(nil, $stderr, "x").each do |wrong|
        assert_raises(ZMQ::Logger::InvalidSocketError, wrong) { ZMQ::Logger.new(wrong) }
      end
    %i[PUB PUSH PAIR].each do |type|
      logger = ZMQ::Logger.new(ctx.socket(type))
      assert_misuse(/only send on a bound or connected/) { logger.info("x") }
    end
  end
end
