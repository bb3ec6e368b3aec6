# frozen_string_literal: true

require_relative "common"

# NAME_runtimes.rb server|client ENDPOINTS FORM:SIZE:COUNT:WARMUP…: one process goes through all
# steps, so that a runtime with a JIT is started and warmed once. Throughput goes from the client's
# PUSH to the server's PULL, a round trip (the form latency) from the client's REQ to the server's
# REP and back. Each side prints what it timed.
module Runtimes
  Step = Struct.new(:form, :size, :count, :warmup) do
    def latency? = form == "latency"

    def key = "#{form}_#{size}"
  end

  module_function

  # @param library what moves messages: server, client, send, receive, reply, round_trips, close
  def main(library, arguments)
    side, endpoints, *steps = arguments
    steps = steps.map do |text|
      form, *numbers = text.split(":")
      Step.new(form, *numbers.map { |number| Integer(number) })
    end
    results =
      (
        if side == "server"
          server(library, endpoints, steps)
        else
          client(library, endpoints.split(","), steps)
        end
      )
    Common.say(results)
    Common.hold if side == "client"
    library.close
  end

  def server(library, endpoint, steps)
    Common.ready(library.server(endpoint).join(","))
    steps.each_with_object({}) do |step, results|
      next library.reply(step.warmup + step.count) if step.latency?
      library.receive(step, step.warmup)
      results[step.key] = Common.measure { library.receive(step, step.count) || step.count }
    end
  end

  def client(library, endpoints, steps)
    library.client(*endpoints)
    steps.each_with_object({}) do |step, results|
      payload = "x" * step.size
      next library.send(step, payload, step.warmup + step.count) unless step.latency?
      library.round_trips(payload, [], step.warmup)
      cpu = Common.cpu
      stamps = Array.new(step.count + 1, Common.now)
      library.round_trips(payload, stamps, step.count)
      results[step.key] = Common.round_trips(stamps, Common.cpu - cpu)
    end
  end
end
