# frozen_string_literal: true

module Edge
  # Looks after the descriptor of a socket for the object that has it, as long as the worker runs.
  # @private
  class OwnedWatch < Watch
    KEPT = []

    # @param owner [#_look] called when the socket may have messages
    def initialize(socket, owner)
      @owner = owner
      super(socket.zmq_fd)
      KEPT << self
    end

    def look = @owner._look
  end

  # Requests to ZeroMQ peers over one DEALER of this worker. Each has a number, so replies may come
  # in any order: any REP can answer, or a ROUTER with workers.
  #
  # **Fibers**: any number may call it at once.
  class ZMQ
    # @param endpoints [Array<String>] one or more
    # @param timeout [Numeric] seconds for each request
    # @param queue [Integer] requests that may wait at once
    # @param options [Hash] of Godwit::DEALER, such as `curve:` and `server_key:`
    # @raise [Godwit::Error, ArgumentError]
    def initialize(*endpoints, timeout: 0.5, queue: 1_000, **options)
      unless timeout.is_a?(Numeric) && timeout > 0
        raise ArgumentError, "timeout: #{timeout.inspect} is not a number of seconds above 0"
      end
      unless queue.is_a?(Integer) && queue > 0
        raise ArgumentError, "queue: #{queue.inspect} is not a number of requests, 1 or more"
      end
      @milliseconds = (timeout * 1000).ceil
      @queue = queue
      @options = {immediate: true, linger: 0, recv_hwm: 0}.merge(options)
      @socket = Godwit::DEALER.connect(*endpoints, **@options)
      @waiting = {} # id => ticket
      @unsent = []  # messages that no peer has taken yet: `_look` sends them
      @last = 0
      @watch = OwnedWatch.new(@socket, self)
    end

    # @param message [String, Array<String>]
    # @return [String, Array<String>] an Array if the reply has several frames
    # @raise [TimeoutError] no reply in time; a peer may have the request
    # @raise [ConnectionError] no peer took the request in time
    # @raise [BusyError] `queue:` requests wait already
    def request(message)
      if @waiting.size >= @queue
        raise BusyError, "#{@queue} requests wait for #{@socket.endpoints.join(", ")} already"
      end
      id = (@last += 1).to_s
      frames = message.is_a?(Array) ? [id, "", *message] : [id, "", message]
      unless frames.size > 2 && frames.all? { |frame| frame.is_a?(String) }
        raise TypeError, "a request is a String, or an Array of Strings"
      end
      ticket = Edge._zmq_ticket(@milliseconds)
      begin
        @unsent << frames
        @waiting[id] = ticket
        @watch.kick
        reply = Edge.wait
      rescue TimeoutError => error
        raise error unless @unsent.delete(frames)
        raise ConnectionError, "no peer at #{@socket.endpoints.join(", ")} took the request in time"
      ensure
        @waiting.delete(id)
        @unsent.delete(frames) unless @unsent.empty?
      end
      reply
    end

    # @return [String]
    def inspect = "#<#{self.class} #{@socket.endpoints.join(", ")}>"
    alias_method :to_s, :inspect

    # The descriptor, or a request, may have changed what the socket has. A receive that finds
    # nothing may consume the edge that says that the socket takes messages again.
    # @private
    def _look
      exchange
      exchange until @unsent.empty? || @socket._events == 0
    end

    private

    def exchange
      @unsent.shift while !@unsent.empty? && @socket._try_send(@unsent[0])
      while (message = @socket._try_recv)
        next unless message.is_a?(Array) && message.size > 2
        ticket = @waiting[message[0]]
        Edge._wake(ticket, (message.size == 3) ? message[2] : message[2..]) if ticket
      end
    end
  end
end
