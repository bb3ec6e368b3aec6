# frozen_string_literal: true

# Contexts that are opened, used and closed, or shut down. The long form opens 3,000.
require_relative "soak"

# The ended threads of closed contexts add no memory: libc reuses their arenas and stacks.
Soak.flat("contexts", rounds: Soak.rounds(long: 3000, short: 300), limit: 1) do |number|
  context = Godwit::Context.new(linger: 0)
  Godwit::REP.bind("inproc://soak", context: context) do |rep|
    Godwit::REQ.connect("inproc://soak", context: context) do |req|
      req.send("question" * 20)
      rep.send(rep.recv)
      req.recv
    end
  end
  context.shutdown if number.odd?
  context.close
end
