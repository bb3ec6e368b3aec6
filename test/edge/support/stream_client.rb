# frozen_string_literal: true

require "socket"

# A client that reads a chunked answer chunk by chunk.
class StreamClient
  # The connection has ended without the last chunk.
  class Cut < StandardError; end

  # Bytes that the kernel receives before the client reads. With less than some segments of the
  # loopback device (64 KiB) it waits for the sender's timers.
  BUFFER = 256 * 1024

  def initialize(port, path)
    @socket = Socket.new(:INET, :STREAM)
    @socket.setsockopt(:SOCKET, :RCVBUF, BUFFER)
    @socket.connect(Addrinfo.tcp("127.0.0.1", port))
    ask(path)
  end

  # Sends another request on this connection.
  # @param headers [String] lines of the request
  # @return [self]
  def ask(path, headers: "")
    @head = nil
    @socket.write("GET #{path} HTTP/1.1\r\nHost: x\r\n#{headers}\r\n")
    self
  end

  # Reads the headers.
  # @return [String]
  def head = @head ||= @socket.gets("\r\n\r\n").to_s

  # @return [String, nil] the next chunk; nil: it was the last one
  def chunk
    head
    size = @socket.gets("\r\n")&.hex
    data = size && @socket.read(size + 2)
    raise Cut, "the answer has no last chunk" unless data&.bytesize == size.to_i + 2
    data.byteslice(0, size) unless size.zero?
  rescue Errno::ECONNRESET
    raise Cut, "the connection was reset"
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

  def close = @socket.close
end
