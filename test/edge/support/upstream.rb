# frozen_string_literal: true

require "socket"

# An HTTP server in threads of this process. A test gives each answer's bytes, also invalid HTTP.
class Upstream
  # A received request: its first line, its headers by lower-case name, and its body.
  Request = Struct.new(:line, :headers, :body) do
    # @return [Array<String>] path and query
    def target = line.split[1].split("?")
  end

  attr_reader :port
  # @return [Queue<Request>] all received requests
  attr_reader :requests
  # @return [Queue<Request>] requests without an answer whose connection nginx has closed
  attr_reader :departures

  # @yield [Request] each request, in its own thread
  # @yieldreturn [String, nil] the answer, after which the connection closes; nil sends none
  def initialize(&answer)
    @answer = answer
    @requests = Queue.new
    @departures = Queue.new
    @server = TCPServer.new("127.0.0.1", 0)
    @port = @server.addr[1]
    @clients = []
    @thread = Thread.new { accept }
  end

  def close
    @server.close
    @thread.join
    @clients.each { |socket, thread|
      socket.close
      thread.kill.join
    }
  end

  private

  def accept
    loop do
      socket = @server.accept
      thread = Thread.new { serve(socket) }
      @clients << [socket, thread]
    end
  rescue IOError, Errno::EBADF
    nil # a test has closed the listener
  end

  def serve(socket)
    request = read(socket) or return # nginx has already closed the connection
    @requests << request
    answer = @answer.call(request)
    answer ? socket.write(answer) : socket.read
    @departures << request unless answer
  rescue SystemCallError, IOError
    nil # nginx has closed the connection before the whole answer
  ensure
    socket.close
  end

  def read(socket)
    line, *lines = socket.gets("\r\n\r\n")&.lines(chomp: true)
    return unless line
    headers = lines.reject(&:empty?).to_h { |one|
      name, value = one.split(": ", 2)
      [name.downcase, value]
    }
    Request.new(line, headers, socket.read(headers["content-length"].to_i))
  end
end
