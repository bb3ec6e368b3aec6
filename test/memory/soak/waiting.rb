# frozen_string_literal: true

# Threads and fibers that wait, and get a message, time out, or are killed. The long form has 20,000
# waits.
require_relative "soak"
require_relative "../../support/tiny_scheduler"

context = Godwit::Context.new(linger: 0)
pull = Godwit::PULL.bind("inproc://soak", context: context)
push = Godwit::PUSH.connect("inproc://soak", context: context)

Soak.flat("waiting", rounds: Soak.rounds(long: 2500, short: 150), limit: 1.5) do |number|
  served = Thread.new { pull.recv }
  killed = Array.new(2) { Thread.new { pull.recv } }
  late = Thread.new { pull.recv(timeout: 0.001, exception: false) }
  until_waiting(pull, 3)
  killed.each(&:kill).each(&:join)
  late.join
  push.send("x")
  served.join
  fibers = Thread.new do # two fibers get a message; the third times out or gets one, too
    Fiber.set_scheduler(Godwit::TestSupport::TinyScheduler.new)
    2.times { Fiber.schedule { pull.recv } }
    Fiber.schedule { pull.recv(timeout: 0.001, exception: false) }
    3.times { push.send("y") }
    Fiber.scheduler.run
  end
  fibers.join
  nil until pull.recv_nonblock(exception: false) == :wait_readable
  if number % 25 == 0 # a socket whose close frees its waiters
    Godwit::PULL.bind("inproc://soak.own", context: context) do |own|
      threads = Array.new(10) { Thread.new { own.recv } }
      until_waiting(own, 10)
      threads.each(&:kill).each(&:join)
    end
  end
end
