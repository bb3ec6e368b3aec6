# frozen_string_literal: true

# godwit_loop.rb WHAT COUNT: messages a second out of one socket, each waited for, in one thread.
# WHAT: "poller" (a hand-written loop of Poller#wait), "loop" (Godwit::Loop), "loop_timers" (the
# same with 10,000 timers that are far off).
require_relative "common"
require "godwit"

BATCH = 100

what = ARGV[0]
count = Integer(ARGV[1])
pull = Godwit::PULL.bind("inproc://bench")
push = Godwit::PUSH.connect("inproc://bench")
message = ("x" * 100).freeze
batch = Array.new(BATCH, message)
start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
left = count

if what == "poller"
  Godwit::Poller.new(pull) do |poller|
    while left > 0
      push.send_many(batch) if (left % BATCH).zero?
      poller.wait.each { |event| event.object.recv }
      left -= 1
    end
  end
else
  Godwit::Loop.run do |loop|
    10_000.times { |number| loop.after(1000 + number) {} } if what == "loop_timers"
    start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    push.send_many(batch)
    loop.readable(pull) do |socket|
      socket.recv
      left -= 1
      loop.stop if left.zero?
      push.send_many(batch) if (left % BATCH).zero?
    end
  end
end
Common.say(rate: count / (Process.clock_gettime(Process::CLOCK_MONOTONIC) - start))
[pull, push].each { |socket| socket.linger = 0 }
[pull, push].each(&:close)
