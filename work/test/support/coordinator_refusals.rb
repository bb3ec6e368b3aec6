# frozen_string_literal: true

require "socket"
require_relative "broker"

# A broker behind a proxy. To the first requests of a producer for a group's coordinator the proxy
# answers as a broker does that has not found the coordinator yet.
class CoordinatorRefusals
  FIND_COORDINATOR = 10
  REFUSALS = 3 # librdkafka does not repeat the request after the third refusal
  # An answer of version 2: throttle time, COORDINATOR_NOT_AVAILABLE, no text, no broker.
  ANSWER = [0, 15, -1, -1, 0, 0].pack("l>s>s>l>s>l>")

  attr_reader :broker, :refused

  # @param properties [String] lines of the broker's server.properties
  def initialize(properties)
    @server = TCPServer.new("127.0.0.1", 0)
    @broker = Broker.start(properties: "#{properties}advertised.listeners=PLAINTEXT://#{address}")
    @refused = 0
    @accepting = Thread.new { loop { connect(@server.accept) } }
  end

  # @return [String] "HOST:PORT"
  def address = "127.0.0.1:#{@server.addr[1]}"

  def close
    @accepting.kill.join
    @server.close
    @broker.remove
  end

  private

  def connect(client)
    upstream = TCPSocket.new("127.0.0.1", @broker.port)
    refused = []
    copy(client, upstream) do |request|
      refused << request[4, 4] if refuse?(request) # the correlation id, which the answer repeats
      request
    end
    copy(upstream, client) do |answer|
      refused.delete(answer[0, 4]) ? answer[0, 4] + ANSWER : answer
    end
  end

  # Copies what the block makes of each message.
  def copy(from, to)
    Thread.new do
      while (size = from.read(4))
        message = yield(from.read(size.unpack1("N")))
        to.write([message.bytesize].pack("N"), message)
      end
    rescue SystemCallError, IOError
      nil # a side has closed its connection
    ensure
      [from, to].each(&:close)
    end
  end

  # Whether a producer requests a group's coordinator. The request ends with the client's name (a
  # member's name has more words), the name of a group (a reader has its own group) and 0.
  def refuse?(request)
    return false unless request.unpack("nn") == [FIND_COORDINATOR, 2] && @refused < REFUSALS
    return false unless request.match?(/..godwit \d+\0.(?!_godwit.reader).*\0\z/mn)
    @refused += 1
  end
end
