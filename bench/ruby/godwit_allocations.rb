# frozen_string_literal: true

# godwit_allocations.rb COUNT: objects that Ruby allocates per call of recv, send, recv_many,
# send_many and recv_frames without keywords (GC.stat counts).
require "godwit"
require_relative "common"

# Fewer than the high-water mark: nothing waits for a receiver that is this very thread.
CHUNK = 500

def allocated
  before = GC.stat(:total_allocated_objects)
  yield
  GC.stat(:total_allocated_objects) - before
end

def repeat(count)
  index = 0
  while index < count
    yield
    index += 1
  end
end

# Objects per call of both sides, by chunks; the first chunk warms caches up and is not counted.
def chunks(count)
  sums = [0, 0]
  (count / CHUNK + 1).times do |index|
    counts = yield
    sums = sums.zip(counts).map(&:sum) if index > 0
  end
  sums.map { |sum| sum.to_f / (count / CHUNK) }
end

count = Integer(ARGV.fetch(0) { abort "usage: godwit_allocations.rb COUNT" })
abort "COUNT is at least #{CHUNK}" if count < CHUNK
endpoint = "inproc://allocations"
pull = Godwit::PULL.bind(endpoint)
push = Godwit::PUSH.connect(endpoint)
payload = "x" * 100
batch = Array.new(CHUNK / 2, payload)
# What the counting itself allocates, once it has run.
idle = Array.new(2) { allocated { repeat(CHUNK) { nil } } }.last

sends, recvs = chunks(count) do
  [allocated { repeat(CHUNK) { push.send(payload) } }, allocated { repeat(CHUNK) { pull.recv } }]
end
send_many, recv_many = chunks(count) do
  got = 0
  calls = 0
  sent = allocated { repeat(2) { push.send_many(batch) } }
  received = allocated do
    while got < CHUNK
      got += pull.recv_many(batch.size).size
      calls += 1
    end
  end
  [sent / 2.0, (received - got) / calls.to_f]
end
_, recv_frames = chunks(count) do
  push.send_many(batch)
  push.send_many(batch)
  got = 0
  calls = 0
  received = allocated do
    while got < CHUNK
      got += pull.recv_frames(batch.size).size
      calls += 1
    end
  end
  [0, (received - got) / calls.to_f]
end
Common.say(
  program: "godwit_allocations", idle: idle, send: (sends - idle) / CHUNK,
  recv: (recvs - idle) / CHUNK, send_many: send_many, recv_many_beyond_strings: recv_many,
  recv_frames_beyond_frames: recv_frames
)
[push, pull].each(&:close)
