# frozen_string_literal: true

# See runtimes.rb: ffi-rzmq. Frames: a Message is made, sent, closed; received, asked for its size
# and closed without being copied out.
require_relative "ffi_rzmq"
require_relative "runtimes"

module FFIRzmqRuntimes
  module_function

  def server(endpoint)
    @context = ZMQ::Context.new
    pull, first = FFIRzmq.bind(@context, ZMQ::PULL, endpoint)
    rep, second = FFIRzmq.bind(@context, ZMQ::REP, endpoint)
    @sockets = [pull, rep]
    [first, second]
  end

  def client(push, req)
    @context = ZMQ::Context.new
    @sockets = [
      FFIRzmq.connect(@context, ZMQ::PUSH, push), FFIRzmq.connect(@context, ZMQ::REQ, req)
    ]
  end

  def close
    @sockets.each(&:close)
    @context.terminate
  end

  def send(step, payload, count)
    push = @sockets.first
    return FFIRzmq.send_all(push, payload, count) unless step.form == "frames"
    while count > 0
      message = ZMQ::Message.new(payload)
      FFIRzmq.check push.sendmsg(message)
      message.close
      count -= 1
    end
  end

  def receive(step, count)
    pull = @sockets.first
    return receive_strings(pull, step, count) unless step.form == "frames"
    size = nil
    while count > 0
      message = ZMQ::Message.new
      FFIRzmq.check pull.recvmsg(message)
      size = message.size
      message.close
      count -= 1
    end
    abort "a message of #{size} bytes came, not of #{step.size}" unless size == step.size
  end

  def receive_strings(pull, step, count)
    buffer = +""
    FFIRzmq.recv_all(pull, buffer, count)
    Common.check_size(buffer, step.size)
  end

  def reply(count)
    rep = @sockets.last
    buffer = +""
    while count > 0
      FFIRzmq.check rep.recv_string(buffer)
      FFIRzmq.check rep.send_string(buffer)
      count -= 1
    end
  end

  def round_trips(payload, stamps, count)
    req = @sockets.last
    buffer = +""
    index = 1
    while index <= count
      FFIRzmq.check req.send_string(payload)
      FFIRzmq.check req.recv_string(buffer)
      stamps[index] = Common.now
      index += 1
    end
  end
end

Runtimes.main(FFIRzmqRuntimes, ARGV)
