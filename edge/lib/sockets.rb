# frozen_string_literal: true

module Edge
  # Waits of fibers for one of mruby-godwit's own sockets. Its descriptor is watched while a fiber
  # waits: once the socket is closed, another file may have the number.
  # @private
  class SocketWatch < Watch
    OPEN = {} # by socket

    class << self
      # (see Godwit::Wait.call)
      def wait(socket, events, milliseconds)
        return true if socket._events & events != 0
        (OPEN[socket.object_id] ||= new(socket)).wait(events, milliseconds)
      end

      # Ends the waits for a socket, or for those of a context.
      def end_of(closing)
        OPEN.values.each { |watch| watch.end if watch.of?(closing) }
      end
    end

    def initialize(socket)
      @socket = socket
      @waits = []
      super(socket.zmq_fd)
    end

    def of?(closing) = @socket.equal?(closing) || @socket.context.equal?(closing)

    def wait(events, milliseconds)
      one = nil
      Watch._waits(1)
      begin
        one = [Edge._sleep(milliseconds), events]
        @waits << one
        Edge.wait == true
      ensure
        Watch._waits(-1)
        @waits.delete_if { |other| other.equal?(one) }
        finish if @waits.empty?
      end
    end

    def look
      ready = @socket._events
      @waits.each { |ticket, events| Edge._wake(ticket, true) if ready & events != 0 }
    end

    def end
      @waits.each { |ticket, _| Edge._wake(ticket, true) }
      finish
    end

    private

    def finish
      return unless OPEN[@socket.object_id].equal?(self)
      OPEN.delete(@socket.object_id)
      close
    end
  end
end

module Godwit
  # On nginx's loop.
  module Wait
    def self.call(waiter, events, milliseconds)
      return Edge::SocketWatch.wait(waiter, events, milliseconds) if events
      raise Errors.build(UnsupportedError, :wait, nil,
        "a Poller cannot wait inside nginx: use Edge.join, and sleep")
    end

    def self.close(closing) = Edge::SocketWatch.end_of(closing)
  end
end
