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

  def run(pattern, run)
    server, client = TYPES.fetch(pattern)
    socket = Sides.bind(server, run.endpoint)
    received = Thread::Queue.new
    sending = yield -> { send_all(client, Sides.endpoint(socket), run, received) }
    result = Sides.public_send(server.downcase, socket, run)
    received << true
    sent = sending.call
    Sides.close(socket)
    (pattern == "push") ? result : sent
  end

  # The socket is closed when the peer has all: see bench_hold in bench/c/bench.h.
  def send_all(type, endpoint, run, received)
    socket = Sides.connect(type, endpoint)
    result = Sides.public_send(type.downcase, socket, run)
    received.pop
    Sides.close(socket)
    result
  end

  def threads(*arguments)
    run(*arguments) { |work| Thread.new(&work).method(:value) }
  end

  def reactors(*arguments)
    Sync { run(*arguments) { |work| Thread.new { Sync { work.call } }.method(:value) } }
  end

  def fibers(*arguments)
    Sync { |task| run(*arguments) { |work| task.async { work.call }.method(:wait) } }
  end
end

require "async" unless form == "threads"
Common.say(program: "together", **Together.public_send(form, pattern, Common.run(arguments)))
