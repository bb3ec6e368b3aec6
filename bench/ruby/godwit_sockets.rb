# frozen_string_literal: true

# godwit_sockets.rb idle COUNT | closed COUNT | churn ENDPOINT COUNT: as bench/c/sockets.c. And what
# has no like in C: rss COUNT: resident memory while COUNT messages of mixed sizes go through, a
# part of them in place. together|apart ENDPOINT SIZE COUNT: PUSH to PULL between two threads of one
# Ractor, or between two Ractors.
require "fiddle"
require "godwit"
require_relative "common"

Warning[:experimental] = false

# The jobs, by name of the first argument.
module Jobs
  PAGE = 4096
  SIZES = [0, 10, 33, 100, 1000, 5000].freeze
  LARGE = 70_000 # sent in place
  ROUND = 100 # messages

  module_function

  def resident = File.read("/proc/self/statm").split[1].to_i * PAGE

  def settled
    GC.start
    resident
  end

  def idle(count)
    count = Integer(count)
    context = Godwit::Context.new(max_sockets: count + 10)
    10.times { Godwit::DEALER.new(context: context).close }
    before = settled
    sockets = Array.new(count) { Godwit::DEALER.new(context: context) }
    {bytes: (settled - before).to_f / sockets.size}
  end

  def churn(endpoint, count)
    context = Godwit::Context.new(max_sockets: 5000)
    pull = Godwit::PULL.bind(endpoint, context: context)
    bound = pull.last_endpoint
    start = Common.now
    Integer(count).times do
      Godwit::PUSH.connect(bound, context: context) { |push| push.send("x") }
      pull.recv
    end
    {rate: Integer(count) / ((Common.now - start) / 1e9)}
  end

  def rss(count)
    pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
    push = Godwit::PUSH.connect(pull.last_endpoint)
    batch =
      Array.new(ROUND) do |number|
        ("x" * ((number == 0) ? LARGE : SIZES[number % SIZES.size])).freeze
      end
    before = nil
    rounds = Integer(count) / ROUND
    rounds.times do |round|
      before = settled if round == rounds / 10 # warm: caches, arenas, slabs
      push.send_many(batch)
      left = ROUND
      left -= (round.even? ? pull.recv_many(left) : pull.recv_frames(left)).size while left > 0
    end
    {before: before, after: settled}
  end

  def closed(count)
    open_and_close(500)
    before = trimmed
    open_and_close(Integer(count))
    {before: before, after: settled, trimmed: trimmed}
  end

  def open_and_close(count)
    count.times { Godwit::DEALER.connect("tcp://127.0.0.1:1", linger: 0, &:type) }
  end

  # What is in use: libzmq's reaper is done, and malloc has given back what is free.
  def trimmed
    sleep 1
    GC.start
    Fiddle::Function.new(
      Fiddle::Handle::DEFAULT["malloc_trim"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_INT
    ).call(0)
    resident
  end

  def together(endpoint, size, count) = moved(Thread, endpoint, Integer(size), Integer(count))

  def apart(endpoint, size, count) = moved(Ractor, endpoint, Integer(size), Integer(count))

  # @param kind [Class] Thread or Ractor, in which the sender runs
  def moved(kind, endpoint, size, count)
    pull = Godwit::PULL.bind(endpoint)
    sender = kind.new(pull.last_endpoint, size, count) do |bound, bytes, messages|
      payload = "x" * bytes
      Godwit::PUSH.connect(bound) do |push|
        index = 0
        while index < messages
          push.send(payload)
          index += 1
        end
      end
    end
    pull.recv
    rate = Common.measure do
      index = 1
      while index < count
        pull.recv
        index += 1
      end
      count - 1
    end
    sender.is_a?(Thread) ? sender.join : sender.take
    rate
  end
end

job, *arguments = ARGV
unless Jobs.singleton_methods.include?(job&.to_sym)
  abort "usage: godwit_sockets.rb idle|churn|rss|closed|together|apart …"
end
Common.say(**Jobs.public_send(job, *arguments))
