# frozen_string_literal: true

# Sockets that are opened, used and closed: by the block form, by close, during a wait, with a
# count of peers. The long form opens 10,000.
require_relative "soak"

context = Godwit::Context.new(linger: 0)
pull = Godwit::PULL.bind("tcp://127.0.0.1:*", context: context)
# Gives libzmq's reaper thread time to free the memory and the descriptors of closed sockets.
settle = -> { sleep(0.3) }

rounds = Soak.rounds(long: 2000, short: 400)
Soak.flat("sockets", rounds: rounds, limit: 1, settle: settle) do |number|
  name = "inproc://soak.#{number}"
  # A connected pair. The last receive times out, and the bound socket retains its waiter.
  Godwit::PAIR.bind(name, context: context) do |bound|
    Godwit::PAIR.connect(name, context: context) do |connected|
      connected.send("x" * 100)
      bound.recv
      bound.recv(timeout: 0.0001, exception: false)
    end
  end
  # A socket whose peers are counted.
  Godwit::PUSH.connect(pull.last_endpoint, context: context) do |push|
    push.wait_connected(timeout: 10)
    push.send("x")
    pull.recv
  end
  # A socket without a peer.
  Godwit::SUB.connect("tcp://127.0.0.1:1", context: context, subscribe: "a", &:type)
  waits = Godwit::PULL.new(context: context) # a socket that is closed during another thread's wait
  thread = Thread.new { waits.recv }
  thread.report_on_exception = false
  until_waiting(waits)
  waits.close
  begin
    thread.join
  rescue Godwit::ClosedError
    nil
  end
end
