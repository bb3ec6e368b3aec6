# frozen_string_literal: true

# Passes Ethernet frames on between network interfaces, each after a delay: a wire of a certain
# length. Run as `ruby frame_relay.rb SECONDS...`; the interfaces are relay0, relay1 and so on, and
# the frames for relayN have the destination address 02:00:00:00:00:0N. The seconds are those of
# the pairs 0-1, 0-2, 1-2 and so on. It ends with its standard input.
require "socket"

class FrameRelay
  PF_PACKET = 17
  EVERY_PROTOCOL = [0x0003].pack("n")
  MOST_BYTES = 65_536
  private_constant :PF_PACKET, :EVERY_PROTOCOL, :MOST_BYTES

  def initialize(delays)
    count = (1..).find { |n| n * (n - 1) / 2 == delays.size }
    @sockets = Array.new(count) { |index| open("relay#{index}") }
    # A queue for each way: its frames are due in their order.
    @ways = (0...count).to_a.combination(2).zip(delays).flat_map do |pair, delay|
      [pair, pair.reverse].map { |way| [way, [delay, []]] }
    end.to_h
  end

  def run
    until @ended
      due = @ways.each_value.filter_map { |_, frames| frames.first&.first }.min
      wait = due && [due - now, 0].max
      readable, = IO.select([$stdin, *@sockets], nil, nil, wait)
      readable&.each { |io| io.equal?($stdin) ? @ended = true : take(io) }
      pass_on
    end
  end

  private

  def open(name)
    socket = Socket.new(PF_PACKET, Socket::SOCK_RAW, EVERY_PROTOCOL.unpack1("S"))
    index = Socket.getifaddrs.find { |interface| interface.name == name }.ifindex
    socket.bind([PF_PACKET, EVERY_PROTOCOL, index, 0, 0, 0, ""].pack("Sa2iSCCa8"))
    socket
  end

  # The socket also sees the frames that it sends itself, which are for its own side.
  def take(socket)
    from = @sockets.index(socket)
    while (frame = socket.read_nonblock(MOST_BYTES, exception: false)).is_a?(String)
      to = frame.getbyte(5)
      delay, frames = @ways[[from, to]]
      frames << [now + delay, frame] if frames && frame.start_with?("\x02\0\0\0\0".b)
    end
  end

  def pass_on
    @ways.each do |(_, to), (_, frames)|
      @sockets[to].write(frames.shift.last) while frames.any? && frames.first.first <= now
    end
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

if $PROGRAM_NAME == __FILE__
  relay = FrameRelay.new(ARGV.map { |text| Float(text) })
  puts "ready"
  $stdout.flush
  relay.run
end
