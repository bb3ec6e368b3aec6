# frozen_string_literal: true

require_relative "common"

# The loops of libraries whose sockets have `<<`, and `receive` for an Array of frames: OMQ, CZTop.
module QueueLoops
  def push(socket, run)
    payload = run.payload
    send_all(socket, payload, run.warmup)
    Common.measure { send_all(socket, payload, run.count) }
  end

  def pull(socket, run)
    before = [run.warmup, 1].max
    receive_all(socket, before)
    message = nil
    result = Common.measure do
      message = receive_all(socket, run.total - before)
      run.total - before
    end
    Common.check_size(message.first, run.size)
    result
  end

  def rep(socket, run)
    request = nil
    left = run.total
    while left > 0
      request = socket.receive
      socket << request
      left -= 1
    end
    Common.check_size(request.first, run.size)
  end

  def req(socket, run)
    payload = run.payload
    Common.time_round_trips(run) do |stamps, count|
      index = 1
      while index <= count
        socket << payload
        socket.receive
        stamps[index] = Common.now
        index += 1
      end
    end
  end

  private

  def send_all(socket, payload, count)
    sent = 0
    while sent < count
      socket << payload
      sent += 1
    end
    sent
  end

  # @return the last message
  def receive_all(socket, count)
    message = nil
    while count > 0
      message = socket.receive
      count -= 1
    end
    message
  end
end
