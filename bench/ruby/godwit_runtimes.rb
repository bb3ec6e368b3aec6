# frozen_string_literal: true

# See runtimes.rb: Godwit, by the backend that GODWIT_BACKEND names. Frames: each is made, sent;
# received, looked at in place, closed.
require "godwit"
require_relative "runtimes"

module GodwitRuntimes
  module_function

  def server(endpoint)
    @sockets = [Godwit::PULL.bind(endpoint), Godwit::REP.bind(endpoint)]
    @sockets.map(&:last_endpoint)
  end

  def client(push, req)
    @sockets = [Godwit::PUSH.connect(push), Godwit::REQ.connect(req)]
  end

  def close = @sockets.each(&:close)

  def send(step, payload, count) = public_send(:"send_#{step.form}", @sockets.first, payload, count)

  def receive(step, count) = public_send(:"receive_#{step.form}", @sockets.first, step.size, count)

  def send_strings(push, payload, count)
    while count > 0
      push.send(payload)
      count -= 1
    end
  end

  def send_batches(push, payload, count)
    batch = Array.new(Common::BATCH, payload)
    while count >= Common::BATCH
      push.send_many(batch)
      count -= Common::BATCH
    end
    push.send_many(batch.first(count))
  end

  def send_frames(push, payload, count)
    payload.freeze
    while count > 0
      push.send(Godwit::Frame.new(payload))
      count -= 1
    end
  end

  def receive_strings(pull, size, count)
    message = nil
    while count > 0
      message = pull.recv
      count -= 1
    end
    Common.check_size(message, size)
  end

  def receive_batches(pull, size, count)
    messages = nil
    while count > 0
      messages = pull.recv_many((count < Common::BATCH) ? count : Common::BATCH)
      count -= messages.size
    end
    Common.check_size(messages.last, size)
  end

  def receive_frames(pull, size, count)
    seen = nil
    while count > 0
      frame = pull.recv_frame
      seen = frame.size
      frame.close
      count -= 1
    end
    abort "a frame of #{seen} bytes came, not of #{size}" unless seen == size
  end

  def reply(count)
    rep = @sockets.last
    while count > 0
      rep.send(rep.recv)
      count -= 1
    end
  end

  def round_trips(payload, stamps, count)
    req = @sockets.last
    index = 1
    while index <= count
      req.send(payload)
      req.recv
      stamps[index] = Common.now
      index += 1
    end
  end
end

Runtimes.main(GodwitRuntimes, ARGV)
