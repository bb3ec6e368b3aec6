# frozen_string_literal: true

require "socket"

# One keep-alive connection of a client. It says when a request leaves and when its answer is read,
# so that a test can have many requests under way in one thread.
class EdgeConnection
  # An answer that came.
  Answer = Struct.new(:status, :body)

  # The connection has ended within an answer.
  class Cut < StandardError; end

  # Bytes that the kernel receives before the client reads. With less than some segments of the
  # loopback device (64 KiB) it waits for the sender's timers.
  BUFFER = 256 * 1024

  def initialize(port)
    @socket = Socket.new(:INET, :STREAM)
    @socket.setsockopt(:SOCKET, :RCVBUF, BUFFER)
    @socket.setsockopt(:TCP, :NODELAY, 1)
    @socket.connect(Addrinfo.tcp("127.0.0.1", port))
  end

  # Sends a request.
  # @param headers [String] lines of it
  # @return [self]
  def ask(path, body: nil, headers: "")
    verb = body ? "POST" : "GET"
    length = body && "Content-Length: #{body.bytesize}\r\n"
    write("#{verb} #{path} HTTP/1.1\r\nHost: x\r\n#{length}#{headers}\r\n#{body}")
  end

  # Sends a piece of a request.
  # @return [self]
  def write(bytes)
    @head = nil
    @socket.write(bytes)
    self
  end

  # Reads the headers.
  # @return [String]
  # @raise [Cut]
  def head = @head ||= received { @socket.gets("\r\n\r\n") }

  # Reads an answer that has a Content-Length.
  # @return [Answer]
  # @raise [Cut]
  def answer
    status = Integer(head[%r{\AHTTP/1\.1 (\d+)}, 1])
    size = [204, 304].include?(status) ? 0 : head[/^content-length: *(\d+)/i, 1].to_i
    Answer.new(status, received(size) { @socket.read(size) })
  end

  # @return [Answer]
  def get(path, **options) = ask(path, **options).answer

  # @return [String, nil] the next chunk of an answer without Content-Length; nil: it was the last
  # @raise [Cut]
  def chunk
    head
    size = received { @socket.gets("\r\n") }.hex
    data = received(size + 2) { @socket.read(size + 2) }
    data.byteslice(0, size) unless size.zero?
  end

  # @return [String] the chunks until it has so many bytes
  def read(bytes)
    text = +""
    text << chunk.to_s while text.bytesize < bytes
    text
  end

  # @return [String] all other chunks
  def rest
    text = +""
    while (data = chunk)
      text << data
    end
    text
  end

  # @return [Boolean] whether the server closes the connection; waits until then
  def closed_by_server? = @socket.read(1).nil?

  # Leaves, also without the answer.
  def close = @socket.close

  private

  def received(size = 1)
    bytes = yield
    return bytes if bytes && bytes.bytesize >= size
    raise Cut, "nginx has closed the connection after #{bytes.inspect}"
  rescue Errno::ECONNRESET
    raise Cut, "nginx has reset the connection"
  end
end
