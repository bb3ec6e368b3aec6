# frozen_string_literal: true

require_relative "edge_connection"

# An HTTP/2 client without TLS. The test decides what it reads, and when the server may send more.
class HTTP2Client
  DATA, HEADERS, RESET, SETTINGS, WINDOW = 0, 1, 3, 4, 8
  END_STREAM = 1
  END_HEADERS = 4
  WHOLE = 1 << 30
  private_constant :DATA, :HEADERS, :RESET, :SETTINGS, :WINDOW, :END_STREAM, :END_HEADERS, :WHOLE

  # @param window [Integer] initial window of each stream: bytes that the server may send
  def initialize(port, window: 65_535)
    @bodies = Hash.new { |all, id| all[id] = +"" }
    @ends = {}
    @socket = Socket.new(:INET, :STREAM)
    @socket.setsockopt(:SOCKET, :RCVBUF, EdgeConnection::BUFFER)
    @socket.connect(Addrinfo.tcp("127.0.0.1", port))
    @socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    write(SETTINGS, 0, 0, [4, window].pack("nN"))
    allow(0)
  end

  # Sends a request.
  # @param id [Integer] id of the new stream
  def ask(id, path)
    fields = "\x82\x86\x01\x01x\x04".b + [path.bytesize].pack("C") + path
    write(HEADERS, END_STREAM | END_HEADERS, id, fields)
  end

  # Lets the server send without a limit.
  # @param id [Integer] the stream; 0 is the whole connection
  def allow(id) = write(WINDOW, 0, id, [WHOLE].pack("N"))

  def reset(id) = write(RESET, 0, id, [8].pack("N"))

  # Reads until the stream ends.
  # @return [Array(String, Symbol)] the body; :whole or :reset
  def answer(id)
    frame until @ends[id]
    [@bodies[id], @ends[id]]
  end

  # Reads until the stream has at least `bytes` bytes.
  # @return [String] the body so far
  def read(id, bytes)
    frame until @bodies[id].bytesize >= bytes
    @bodies[id]
  end

  def close = @socket.close

  private

  def write(type, flags, id, payload)
    @socket.write([payload.bytesize, type, flags, id].pack("NCCN").byteslice(1..), payload)
  end

  def frame
    header = @socket.read(9) || raise(EOFError, "the server has closed the connection")
    size, type, flags, id = "\0#{header}".unpack("NCCN")
    payload = @socket.read(size)
    case type
    when DATA then @bodies[id] << payload
    when RESET then @ends[id] = :reset
    when SETTINGS then write(SETTINGS, 1, 0, "") if flags == 0
    end
    @ends[id] ||= :whole if flags & END_STREAM != 0 && [DATA, HEADERS].include?(type)
  end
end
