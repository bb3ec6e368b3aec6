# frozen_string_literal: true

# Messages of 0 B to 1 MiB over tcp and inproc: copied and in place, singly and in batches, of one
# frame and of several, as Strings, Frames and Messages. The program closes some messages, and
# tracks others with a Tracker. The long form sends ten million.
require_relative "soak"

SIZES = [
  *[0, 1, 10, 29, 30, 33, 34, 100, 255, 256, 1000, 4096, 5000] * 40, *[8192, 20_000] * 4, 65_536,
  100_000, 300_000, 1 << 20
].shuffle(random: Random.new(1))
BATCH = 100
# FRESH makes a new String for a large size, so that each message sent in place has its own memory.
COMMON = SIZES.map { |size| ("c" * size).freeze }
FRESH = ->(size) { (size < 60_000) ? COMMON[SIZES.index(size)] : ("f" * size).freeze }

# A connected pair of sockets. Each of METHODS sends a batch and receives it.
class Link
  METHODS = %i[one_by_one in_place batch multipart frames messages tracked frame_by_frame].freeze

  def initialize(endpoint)
    @pull = Godwit::PULL.bind(endpoint)
    @push = Godwit::PUSH.connect(@pull.last_endpoint)
  end

  def round(number, sizes)
    method = METHODS[number % METHODS.size]
    send(method, sizes)
  end

  private

  def one_by_one(sizes)
    sizes.each do |size|
      @push.send(COMMON[SIZES.index(size)])
      @pull.recv.bytesize == size or abort "wrong"
    end
  end

  def in_place(sizes)
    sizes.each { |size| @push.send(FRESH.call(size)) }
    sizes.each { @pull.recv_frame }
  end

  def batch(sizes)
    sender = Thread.new { @push.send_many(sizes.map(&FRESH)) }
    left = sizes.size
    left -= @pull.recv_many(left).size while left > 0
    sender.join
  end

  def multipart(sizes)
    sizes.each_slice(4) do |some|
      @push.send(some.map(&FRESH))
      @pull.recv_multipart
    end
  end

  def frames(sizes)
    sizes.each { |size| @push.send(Godwit::Frame.new(FRESH.call(size))) }
    left = sizes.size
    left -= @pull.recv_frames(left).each(&:close).size while left > 0
  end

  def messages(sizes)
    sizes.each_slice(4) do |some|
      message = Godwit::Message.new(*some.map(&FRESH))
      copy = message.dup
      @push.send(message)
      @pull.recv_message.close
      copy.close
    end
  end

  def tracked(sizes)
    sizes.each do |size|
      tracker = @push.send(FRESH.call(size), track: true)
      @pull.recv_message.close
      tracker.wait(10) or abort "not done"
    end
  end

  def frame_by_frame(sizes)
    sizes.each_slice(2) do |some|
      some.each_with_index do |size, index|
        @push.send_frame(FRESH.call(size), more: index + 1 < some.size)
      end
      some.size.times { @pull.recv_frame }
    end
  end
end

links = %w[tcp://127.0.0.1:* inproc://soak].map { |endpoint| Link.new(endpoint) }
rounds = Soak.rounds(long: 100_000, short: 6000)
Soak.flat("messages", rounds: rounds, limit: 5) do |number|
  sizes = SIZES.rotate(number * BATCH).first(BATCH)
  links[number / Link::METHODS.size % 2].round(number, sizes)
end
