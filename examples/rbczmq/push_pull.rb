# frozen_string_literal: true

# One ventilator, five threads of workers, one sink. Written for rbczmq: each thread creates its own
# sockets from one context.
#
#   ruby -rgodwit/compat/rbczmq push_pull.rb
require "zmq"

WORKERS = 5
TASKS = 1_000

ctx = ZMQ::Context.new
tasks = ctx.bind(:PUSH, "inproc://tasks")
results = ctx.bind(:PULL, "inproc://results")

workers = Array.new(WORKERS) do
  Thread.new do
    pull = ctx.connect(:PULL, "inproc://tasks")
    push = ctx.connect(:PUSH, "inproc://results")
    push.send("ready")
    done = 0
    until (task = pull.recv) == "end"
      push.send((task.to_i * 2).to_s)
      done += 1
    end
    done
  end
end

# A worker that came after the others had ended would wait for its end for ever.
WORKERS.times { results.recv }

sum = 0
TASKS.times do |number|
  tasks.send(number.to_s)
  sum += results.recv.to_i
end
# One for each, as long as none of them has closed its socket: destroy does that.
WORKERS.times { tasks.send("end") }

done = workers.map(&:value)
puts "#{done.sum} tasks by #{done.count(&:positive?)} threads, the results add up to #{sum}"
ctx.destroy
