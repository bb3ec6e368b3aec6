# frozen_string_literal: true

require_relative "rbczmq_case"

class RbczmqLoggerTest < Godwit::RbczmqCase
  under_gc_stress

  test "each line is a message" do
    push, pull = pair(:PUSH, :PULL)
    logger = ZMQ::Logger.new(push)
    assert_kind_of ::Logger, logger
    assert_equal true, logger.debug("first")
    logger.level = ::Logger::WARN
    logger.info("not this one")
    logger.error { "second" }
    logger << "raw"
    assert_match(/\AD, \[.*\] DEBUG -- : first\n\z/, pull.recv)
    assert_match(/\AE, \[.*\] ERROR -- : second\n\z/, pull.recv)
    assert_equal "raw", pull.recv
    assert_nil logger.close
    assert_equal true, push.send("the socket is its owner's")
  end

  test "PUB, PUSH and PAIR only" do
    %i[PUB PUSH PAIR].each do |type|
      assert_instance_of ZMQ::Logger, ZMQ::Logger.new(ctx.socket(type))
    end
    (%i[SUB PULL REQ REP DEALER ROUTER XPUB XSUB STREAM].map { |type| ctx.socket(type) } + [nil,
      $stderr, "x"]).each do |wrong|
      assert_raises(ZMQ::Logger::InvalidSocketError) { ZMQ::Logger.new(wrong) }
    end
    assert_operator ZMQ::Logger::InvalidSocketError, :<, ZMQ::Error
  end

  test "errors of the socket are raised" do
    logger = ZMQ::Logger.new(ctx.socket(:PUSH))
    assert_misuse(/only send on a bound or connected/) { logger.info("x") }
  end
end
