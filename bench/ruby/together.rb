# frozen_string_literal: true

# together.rb LIBRARY threads|reactors|fibers push|req ENDPOINT SIZE COUNT [WARMUP] [FORM]: as
# bench/c/together.c. reactors: two threads with a reactor of Async each. fibers: of one reactor.
# LIBRARY_sides.rb has the loops.
library, form, pattern, *arguments = ARGV
require_relative "#{library}_sides"

# Both ends of a connection in one process.
module Together
  TYPES = {"push" => %i[PULL PUSH], "req" => %i[REP REQ]}.freeze

  module_function

  # Prints the result.
  def run(form, pattern, run, &start)
    server, client = TYPES.fetch(pattern)
    socket = Sides.bind(server, run.endpoint)
    results, received = Array.new(2) { Thread::Queue.new }
    sending = start.call(-> { send_all(client, Sides.endpoint(socket), run, results, received) })
    result = Sides.public_send(server.downcase, socket, run)
    sent = results.pop
    Common.say(program: "together", **((pattern == "push") ? result : sent))
    # Async cannot close a reactor whose OMQ socket is connected over inproc to another one's.
    exit!(true) if form == "reactors"
    received << true
    sending.call
    Sides.close(socket)
  end

  # The socket is closed when the peer has all: see bench_hold in bench/c/bench.h.
  def send_all(type, endpoint, run, results, received)
    socket = Sides.connect(type, endpoint)
    results << Sides.public_send(type.downcase, socket, run)
    received.pop
    Sides.close(socket)
  end

  def threads(*arguments)
    run("threads", *arguments) { |work| Thread.new(&work).method(:join) }
  end

  def reactors(*arguments)
    Sync { run("reactors", *arguments) { |work| Thread.new { Sync { work.call } }.method(:join) } }
  end

  def fibers(*arguments)
    Sync { |task| run("fibers", *arguments) { |work| task.async { work.call }.method(:wait) } }
  end
end

require "async" unless form == "threads"
Together.public_send(form, pattern, Common.run(arguments))
