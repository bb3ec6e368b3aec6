# frozen_string_literal: true

# godwit_logger.rb COUNT: lines a second of a ::Logger whose device calls PUSH#send.
require "godwit"
require_relative "logger_loop"

# Sends what it is given to write.
class Device
  def initialize(socket)
    @socket = socket
  end

  def write(line) = @socket.send(line)

  def close
  end
end

pull = Godwit::PULL.new(recv_hwm: 0).bind("inproc://log")
push = Godwit::PUSH.new(send_hwm: 0).connect("inproc://log")
Common.say(
  program: "godwit_logger", **LoggerLoop.run(Logger.new(Device.new(push)), pull, Integer(ARGV[0]))
)
