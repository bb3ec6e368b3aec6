# frozen_string_literal: true

require "godwit"
require_relative "common"

# The loops of godwit_push, godwit_pull, godwit_req, godwit_rep and together. `while`, because a
# block's call would be measured with the message.
module GodwitLoops
  module_function

  def push(socket, run)
    payload = run.payload
    move = (run.form == "batches") ? method(:push_batches) : method(:push_strings)
    move.call(socket, payload, run.warmup)
    Common.measure { move.call(socket, payload, run.count) }
  end

  def pull(socket, run)
    case run.form
    when "batches" then pull_batches(socket, run)
    when "frames" then pull_frames(socket, run)
    else pull_strings(socket, run)
    end
  end

  def push_strings(socket, payload, count)
    sent = 0
    while sent < count
      socket.send(payload)
      sent += 1
    end
    sent
  end

  def push_batches(socket, payload, count)
    batch = Array.new(Common::BATCH, payload)
    sent = 0
    while sent + Common::BATCH <= count
      socket.send_many(batch)
      sent += Common::BATCH
    end
    socket.send_many(batch.first(count - sent)) if sent < count
    count
  end

  def pull_strings(socket, run)
    before = [run.warmup, 1].max
    recv_strings(socket, before)
    message = nil
    result = Common.measure do
      recv_strings(socket, run.total - before - 1)
      message = socket.recv
      run.total - before
    end
    Common.check_size(message, run.size)
    result
  end

  def recv_strings(socket, count)
    while count > 0
      socket.recv
      count -= 1
    end
  end

  def pull_frames(socket, run)
    before = [run.warmup, 1].max
    recv_frames(socket, before)
    Common.measure { recv_frames(socket, run.total - before, run.size) }
  end

  # @return [Integer] the number
  def recv_frames(socket, count, size = nil)
    left = count
    while left > 0
      frame = socket.recv_frame
      Common.check_size(frame.byteslice(0, size), size) if size && left == 1
      frame.close
      left -= 1
    end
    count
  end

  def pull_batches(socket, run)
    total = run.total
    warmup = [run.warmup, 1].max
    received = 0
    received += socket.recv_many(Common::BATCH).size while received < warmup
    before = received
    messages = nil
    result = Common.measure do
      while received < total
        messages = socket.recv_many(Common::BATCH)
        received += messages.size
      end
      received - before
    end
    Common.check_size(messages.last, run.size)
    result
  end

  def rep(socket, run)
    request = nil
    left = run.total
    while left > 0
      request = socket.recv
      socket.send(request)
      left -= 1
    end
    Common.check_size(request, run.size)
  end

  def req(socket, run)
    payload = run.payload
    Common.time_round_trips(run) do |stamps, count|
      index = 1
      while index <= count
        socket.send(payload)
        socket.recv
        stamps[index] = Common.now
        index += 1
      end
    end
  end
end
