# frozen_string_literal: true

# A loop with two sockets and three timers. Written for rbczmq.
#
#   ruby -rgodwit/compat/rbczmq loop.rb
require "zmq"

# Sends ten numbers, one whenever the socket is writable.
class Producer < ZMQ::Handler
  def initialize(pollitem, args)
    super
    @numbers = args.first
  end

  def on_writable
    number = @numbers.shift
    return ZL.remove(pollitem) unless number
    send(number.to_s)
  end
end

# Adds up the received numbers.
class Consumer < ZMQ::Handler
  def initialize(pollitem, args)
    super
    @sum = args.first
  end

  def on_readable
    @sum << recv.to_i
  end

  def on_error(error)
    puts "the consumer failed: #{error.message}"
    raise error
  end
end

ctx = ZMQ::Context.new
push = ctx.socket(:PUSH)
pull = ctx.socket(:PULL)
numbers = (1..10).to_a
seen = []
ticks = 0

result = ZMQ::Loop.run do
  ZL.bind(push, "inproc://numbers", Producer, numbers)
  ZL.connect(pull, "inproc://numbers", Consumer, seen)
  ZL.add_oneshot_timer(0.01) { puts "once" }
  ZL.add_timer(0.01, 3) { puts "tick #{ticks += 1}" }
  ZL.add_periodic_timer(0.02) { !(seen.size == 10 && ticks == 3) } # false ends the loop
end

puts "#{seen.size} numbers, #{seen.sum} in all; the loop gave #{result}"
ctx.destroy
