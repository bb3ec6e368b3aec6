# frozen_string_literal: true

require_relative "godwit_loops"

# What godwit_frames_push and godwit_frames_pull share: see bench/c/frames_push.c.
module GodwitFrames
  module_function

  # As thr_limit in bench/c/thr.h.
  def mark(size) = ((64 << 20) / [size, 1].max).clamp(2, 1000)

  # @param form [String] copied or in-place
  def push(run, form)
    Godwit::PUSH.connect(run.endpoint, send_hwm: mark(run.size),
      copy_threshold: (form == "copied") ? nil : 0) do |push|
      payload = run.payload.freeze
      GodwitLoops.push_strings(push, payload, run.warmup)
      Common.say(
        program: "godwit_frames_push",
        **Common.measure { GodwitLoops.push_strings(push, payload, run.count) }
      )
      Common.hold
    end
  end

  # @param form [String] strings, frames (one by one) or batches (of frames)
  def pull(run, form)
    Godwit::PULL.bind(run.endpoint, recv_hwm: mark(run.size)) do |pull|
      Common.ready(pull.last_endpoint)
      Common.say(
        program: "godwit_frames_pull",
        **(
          if form == "strings"
            GodwitLoops.pull_strings(pull, run)
          else
            frames(pull, run, form == "batches")
          end
        )
      )
    end
  end

  def frames(pull, run, batches)
    receive = batches ? method(:receive_batches) : method(:receive_frames)
    before = receive.call(pull, [run.warmup, 1].max)
    Common.measure do
      receive.call(pull, run.total - before)
      run.total - before
    end
  end

  # Each frame is closed at once, as C reuses its one zmq_msg_t.
  def receive_frames(pull, count)
    left = count
    while left > 0
      pull.recv_frame.close
      left -= 1
    end
    count
  end

  def receive_batches(pull, count)
    received = 0
    while received < count
      frames = pull.recv_frames([count - received, Common::BATCH].min)
      received += frames.size
      frames.each(&:close)
    end
    received
  end
end
