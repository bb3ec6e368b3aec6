# frozen_string_literal: true

require "socket"

# One keep-alive connection of a client. It says when a request leaves and when its answer is read,
# so that a test can have many requests under way in one thread.
class EdgeConnection
  # An answer that came.
  Answer = Struct.new(:status, :body)

  # nginx has closed the connection.
  class Closed < StandardError; end

  attr_reader :socket

  def initialize(port)
    @socket = TCPSocket.new("127.0.0.1", port)
    @socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
    @read = +""
  end

  # Sends a request.
  # @return [self]
  def ask(path, body: nil)
    verb = body ? "POST" : "GET"
    length = body && "Content-Length: #{body.bytesize}\r\n"
    @socket.write("#{verb} #{path} HTTP/1.1\r\nHost: x\r\n#{length}\r\n#{body}")
    self
  end

  # Waits for the answer of the request that was sent first.
  # @return [Answer]
  # @raise [Closed]
  def answer
    fill until (headers = @read.index("\r\n\r\n"))
    head = @read.slice!(0, headers + 4)
    status = Integer(head[%r{\AHTTP/1\.1 (\d+)}, 1])
    size = [204, 304].include?(status) ? 0 : Integer(head[/^content-length: *(\d+)/i, 1] || "0")
    fill until @read.bytesize >= size
    Answer.new(status, @read.slice!(0, size))
  end

  # @return [Answer]
  def get(path, **options) = ask(path, **options).answer

  # Leaves, also without the answer.
  def close = @socket.close

  private

  def fill
    @read << @socket.readpartial(65_536).b
  rescue EOFError, Errno::ECONNRESET
    raise Closed, "nginx has closed the connection after #{@read.inspect}"
  end
end
