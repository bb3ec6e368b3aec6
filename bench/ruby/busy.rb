# frozen_string_literal: true

require_relative "common"

# A CPU-bound Ruby thread, and what a receiver sees beside it.
module Busy
  Run = Struct.new(:endpoint, :size, :seconds, :hwm)

  module_function

  def run(arguments)
    unless (4..5).cover?(arguments.size)
      abort "usage: #{File.basename($PROGRAM_NAME)} ENDPOINT SIZE SECONDS HWM [STAMP_PIPE]"
    end
    Run.new(arguments[0], Integer(arguments[1]), Float(arguments[2]), Integer(arguments[3]))
  end

  def thread
    Thread.new do
      count = 0
      loop { count += 1 }
    end
  end

  # Calls the block for arrays of messages until `seconds` are over; each message begins with the
  # sender's clock.
  def watch(seconds)
    yield # the first message may be late for reasons of its own
    count = gap = age = 0
    start = last = Common.now
    finish = start + (seconds * 1e9).to_i
    while last < finish
      messages = yield
      now = Common.now
      gap = now - last if now - last > gap
      messages.each do |message|
        old = now - message.unpack1("q")
        age = old if old > age
      end
      count += messages.size
      last = now
    end
    {count: count, rate: count * 1e9 / (last - start), gap_ms: gap / 1e6, age_ms: age / 1e6}
  end

  # The same beside the same busy thread, read from an IO.pipe that a C program fills.
  def watch_pipe(program, size, seconds)
    reader, writer = IO.pipe
    reader.binmode
    child = Process.spawn(program, size.to_s, (seconds + 5).to_s, out: writer)
    writer.close
    watch(seconds) { [reader.readpartial(size)] }
  ensure
    reader.close
    Process.wait(child)
  end

  # `messages` gives the next ones; prints what the receiver saw and, with STAMP_PIPE, what the
  # pipe's reader saw.
  def report(program, run, pipe_program, &messages)
    result = watch(run.seconds, &messages)
    if pipe_program
      pipe = watch_pipe(pipe_program, run.size, run.seconds)
      result.update(pipe_rate: pipe[:rate], pipe_gap_ms: pipe[:gap_ms], pipe_age_ms: pipe[:age_ms])
    end
    Common.say(program: program, **result)
  end
end
