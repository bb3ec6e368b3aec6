# frozen_string_literal: true

require "socket"

# A client that reads a chunked answer chunk by chunk.
class StreamClient
  # The connection has ended without the last chunk.
  class Cut < StandardError; end

  # @param headers [String] lines of the request
  # @param buffer [Integer, nil] bytes that the kernel receives before the client reads
  def initialize(port, path, headers: "", buffer: nil)
    @socket = Socket.new(:INET, :STREAM)
    @socket.setsockopt(:SOCKET, :RCVBUF, buffer) if buffer
    @socket.connect(Addrinfo.tcp("127.0.0.1", port))
    @socket.write("GET #{path} HTTP/1.1\r\nHost: x\r\n#{headers}\r\n")
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

  # Sends another request on this connection.
  # @return [self]
  def again(path, headers: "")
    @head = nil
    @socket.write("GET #{path} HTTP/1.1\r\nHost: x\r\n#{headers}\r\n")
    self
  end

  def close = @socket.close
end
