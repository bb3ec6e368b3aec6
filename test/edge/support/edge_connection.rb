# frozen_string_literal: true

require "socket"

# A client's keep-alive connection. The caller decides when to send a request and when to read its
# answer, so one thread can have many requests in progress.
class EdgeConnection
  # A received answer.
  Answer = Struct.new(:status, :body)

  # The connection ended in the middle of an answer.
  class Cut < StandardError; end

  # The size of the kernel's receive buffer. With a buffer smaller than a few segments of the
  # loopback device (64 KiB) TCP would wait for the sender's timers.
  BUFFER = 256 * 1024

  def initialize(port)
    @socket = Socket.new(:INET, :STREAM)
    @socket.setsockopt(:SOCKET, :RCVBUF, BUFFER)
    @socket.setsockopt(:TCP, :NODELAY, 1)
    @socket.connect(Addrinfo.tcp("127.0.0.1", port))
  end

  # Sends a request.
  # @param headers [String] additional header lines
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

  # @return [String, nil] the next chunk of an answer without Content-Length; nil after the last one
  # @raise [Cut]
  def chunk
    head
    size = received { @socket.gets("\r\n") }.hex
    data = received(size + 2) { @socket.read(size + 2) }
    data.byteslice(0, size) unless size.zero?
  end

  # Reads chunks until they have at least `bytes` bytes together.
  def read(bytes)
    text = +""
    text << chunk.to_s while text.bytesize < bytes
    text
  end

  # @return [String] all remaining chunks
  def rest
    text = +""
    while (data = chunk)
      text << data
    end
    text
  end

  # Waits for a byte or for the end of the connection.
  # @return [Boolean] whether the server has closed the connection
  def closed_by_server? = @socket.read(1).nil?

  # Closes the connection, also before the answer has come.
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
