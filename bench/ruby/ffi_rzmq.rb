# frozen_string_literal: true

require "ffi-rzmq"
require_relative "common"

# ffi-rzmq as its README uses it, its return codes checked; one buffer for all that is received, the
# cheapest that it offers.
module FFIRzmq
  module_function

  def check(code)
    abort "ffi-rzmq: #{ZMQ::Util.error_string}" unless ZMQ::Util.resultcode_ok?(code)
  end

  def bind(context, type, endpoint)
    socket = context.socket(type)
    yield socket if block_given?
    check socket.bind(endpoint)
    bound = []
    check socket.getsockopt(ZMQ::LAST_ENDPOINT, bound)
    [socket, bound.first.delete("\0")]
  end

  def connect(context, type, endpoint)
    socket = context.socket(type)
    check socket.connect(endpoint)
    socket
  end

  def send_all(socket, payload, count)
    sent = 0
    while sent < count
      check socket.send_string(payload)
      sent += 1
    end
    sent
  end

  def recv_all(socket, buffer, count)
    received = 0
    while received < count
      check socket.recv_string(buffer)
      received += 1
    end
    received
  end

  def push(socket, run)
    payload = run.payload
    send_all(socket, payload, run.warmup)
    Common.measure { send_all(socket, payload, run.count) }
  end

  def pull(socket, run)
    buffer = +""
    before = [run.warmup, 1].max
    recv_all(socket, buffer, before)
    result = Common.measure { recv_all(socket, buffer, run.total - before) }
    Common.check_size(buffer, run.size)
    result
  end

  def rep(socket, run)
    buffer = +""
    left = run.total
    while left > 0
      check socket.recv_string(buffer)
      check socket.send_string(buffer)
      left -= 1
    end
    Common.check_size(buffer, run.size)
  end

  def req(socket, run)
    payload = run.payload
    buffer = +""
    Common.time_round_trips(run) do |stamps, count|
      index = 1
      while index <= count
        check socket.send_string(payload)
        check socket.recv_string(buffer)
        stamps[index] = Common.now
        index += 1
      end
    end
  end
end
