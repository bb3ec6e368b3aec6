# frozen_string_literal: true

# rbczmq_logger.rb COUNT: lines a second of ZMQ::Logger over a PUSH, through rbczmq's layer.
require "zmq"
require_relative "logger_loop"

context = ZMQ::Context.new
pull = context.socket(:PULL)
pull.rcvhwm = 0
pull.bind("inproc://log")
push = context.socket(:PUSH)
push.sndhwm = 0
push.connect("inproc://log")
Common.say(
  program: "rbczmq_logger", **LoggerLoop.run(ZMQ::Logger.new(push), pull, Integer(ARGV[0]))
)
