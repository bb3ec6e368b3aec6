# frozen_string_literal: true

# exchange.rb send|receive ENDPOINT COUNT [SERVER_KEY PUBLIC_KEY SECRET_KEY]: one side of an
# exchange of messages of 1 to 4 frames, for mruby-godwit and for Ruby with the gem. The receiver
# binds. Each side prints the checksum of its messages. exchange.py is the same for pyzmq.

POOL = Array.new(300) { |index| ((index * 7 + index / 5) % 256).chr }.join
POOL.force_encoding("BINARY") if POOL.respond_to?(:force_encoding)
MASK = 0xffff_ffff

def message(number)
  return POOL.byteslice(number % 200, number % 21) if number % 4 == 0
  Array.new(number % 4 + 1) do |part|
    POOL.byteslice((number * 3 + part) % 200, (number / 4 + part) % 21)
  end
end

# The checksum of messages. By words of four bytes: a byte at a time, mruby would need twice as long
# as for the messages themselves.
class Checksum
  SLICE = 4096

  def initialize
    @sum = 0
    @text = "".b
  end

  def add(message)
    frames = message.is_a?(Array) ? message : [message]
    @text << frames.size.chr
    frames.each { |frame| @text << frame.bytesize.chr << frame }
    return if @text.bytesize < SLICE
    count(@text.byteslice(0, SLICE))
    @text = @text.byteslice(SLICE, @text.bytesize)
  end

  def finish
    count(@text + "\0" * (-@text.bytesize % 4))
    @sum
  end

  private

  def count(text) = text.unpack("N*").each { |word| @sum = (@sum * 31 + word) & MASK }
end

# Not by puts, whose output mruby 3.3 keeps until the end.
def print_line(text)
  $stdout.write("#{text}\n")
  $stdout.flush
end

def send_all(push, count)
  sum = Checksum.new
  count.times do |number|
    one = message(number)
    push << one
    sum.add(one)
  end
  sum.finish
end

def receive_all(pull, count)
  sum = Checksum.new
  left = count
  while left > 0
    # By turns, so that both primitives have their part.
    some = (left % 3 == 0) ? pull.recv_many(256, timeout: 20) : [pull.recv(timeout: 20)]
    some.each { |one| sum.add(one) }
    left -= some.size
  end
  sum.finish
end

role, endpoint, count, server_key, public_key, secret_key = ARGV
if server_key
  keys = Godwit::Curve::Keypair.new(public_key: public_key, secret_key: secret_key)
end
if role == "send"
  options = server_key ? {curve: keys, server_key: server_key} : {}
  push = Godwit::PUSH.connect(endpoint, send_timeout: 20, **options)
  print_line send_all(push, count.to_i)
else
  options = server_key ? {curve: keys} : {}
  pull = Godwit::PULL.bind(endpoint, **options)
  print_line pull.last_endpoint
  print_line receive_all(pull, count.to_i)
end
